"""``torch.nn.utils.parametrizations``: weights of unit norm, of bounded spectral norm, and orthogonal ones."""

from __future__ import annotations

from typing import Any

from shim_torch import _torch_names
from shim_torch._missing import asked_of as _asked_of
from shim_torch.autograd.grad_mode import no_grad as _no_grad
from shim_torch.nn.modules.module import Module
from shim_torch.nn.utils import parametrize

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _others(v: Any, dim: int) -> list[int]:
    return [d for d in range(v.dim()) if d != dim % v.dim()]


class _WeightNorm(Module):
    """g * v / |v|, the norm over all dims but one (or over all, dim=-1)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def _norm(self, v: Any) -> Any:
        import shim_torch

        if self.dim == -1:
            return shim_torch.linalg.vector_norm(v)
        return shim_torch.linalg.vector_norm(v, dim=_others(v, self.dim), keepdim=True)

    def forward(self, g: Any, v: Any) -> Any:
        return v * (g / self._norm(v))

    def right_inverse(self, weight: Any) -> Any:
        return self._norm(weight), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Makes a weight the product of a direction and its length: ``original0`` (length) and ``original1`` (direction)."""
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def old_names(state: dict[str, Any], prefix: str, *_: Any) -> None:
        for old, new in ((f"{prefix}{name}_g", "original0"), (f"{prefix}{name}_v", "original1")):
            if old in state:
                state[f"{prefix}parametrizations.{name}.{new}"] = state.pop(old)

    module._register_load_state_dict_pre_hook(old_names)
    return module


class _SpectralNorm(Module):
    """weight / its largest singular value, estimated by power iteration."""

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        import shim_torch

        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps, self.n_power_iterations = eps, n_power_iterations
        if weight.dim() > 1:
            matrix = self._matrix(weight.detach())
            normalize = shim_torch.nn.functional.normalize
            self.register_buffer("_u", normalize(matrix.new_empty(matrix.shape[0]).normal_(0, 1), dim=0, eps=eps))
            self.register_buffer("_v", normalize(matrix.new_empty(matrix.shape[1]).normal_(0, 1), dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _matrix(self, weight: Any) -> Any:
        if self.dim:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    def _power_method(self, matrix: Any, iterations: int) -> None:
        import shim_torch

        normalize = shim_torch.nn.functional.normalize
        with _no_grad():
            for _ in range(iterations):
                self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        import shim_torch

        if weight.dim() == 1:
            return shim_torch.nn.functional.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / shim_torch.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides a weight by its largest singular value."""
    if not hasattr(module, name):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__ in ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d") else 0
    weight = getattr(module, name)
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module


def _is_orthogonal(q: Any) -> bool:
    import shim_torch

    eps = 10.0 * q.size(-2) * shim_torch.finfo(q.dtype).eps
    identity = shim_torch.eye(q.size(-1), dtype=q.dtype, device=q.device)
    return bool(shim_torch.allclose(q.mH @ q, identity, atol=eps))


def _make_orthogonal(a: Any) -> Any:
    """The orthogonal factor of a matrix whose triangular one has a positive diagonal."""
    import shim_torch

    q, r = shim_torch.linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """An orthogonal (or unitary) matrix of any matrix, by one of three maps; ``base`` is what it starts from."""

    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Any) -> Any:
        import shim_torch as torch

        wide = x.size(-2) < x.size(-1)
        x = x.mT if wide else x
        n, k = x.size(-2), x.size(-1)
        if self.orthogonal_map == "householder":
            a = x.tril(diagonal=-1)
            q = torch.linalg.householder_product(a, 2.0 / (1.0 + (a * a).sum(dim=-2)))
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)  # the diagonal holds signs
        else:
            x = x.tril()
            if n != k:
                x = torch.cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
            a = x - x.mH
            if self.orthogonal_map == "matrix_exp":
                q = torch.linalg.matrix_exp(a)
            else:
                identity = torch.eye(n, dtype=a.dtype, device=a.device)
                q = torch.linalg.solve(torch.add(identity, a, alpha=-0.5), torch.add(identity, a, alpha=0.5))
            q = q[..., :k] if n != k else q
        q = self.base @ q if hasattr(self, "base") else q
        return q.mT if wide else q

    @_no_grad()
    def right_inverse(self, q: Any) -> Any:
        import shim_torch as torch

        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        start = torch.zeros_like(q)
        wide = q.size(-2) < q.size(-1)
        q = q.mT if wide else q
        n, k = q.size(-2), q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            a, tau = torch.geqrf(q)
            diagonal = a.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal[tau == 0.0] *= -1
            return a.mT if wide else a
        if n != k:
            more = torch.randn(*(*q.shape[:-2], n, n - k), dtype=q.dtype, device=q.device)
            self.base = _make_orthogonal(torch.cat([q, more], dim=-1))
        else:
            self.base = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # Householder of it is the identity
        return start


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: Any = None, *, use_trivialization: bool = True
) -> Module:
    """Keeps a matrix (or a batch) orthogonal; orthogonal_map: "matrix_exp", "cayley" or "householder"."""
    from native import _core

    weight = getattr(module, name, None)
    if not isinstance(weight, _core.TensorBase):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module

__getattr__ = _asked_of(__name__)

_torch_names.present(globals())
