"""``torch.nn.utils.parametrizations``: weights of unit norm, of bounded spectral norm, and orthogonal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.autograd.grad_mode import no_grad as _no_grad
from shim_torch.nn.modules.module import Module
from shim_torch.nn.utils import parametrize
from shim_torch.nn.utils.spectral_norm import _as_matrix, _dim_of_outputs, _power_iteration, _unit

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
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps, self.n_power_iterations = eps, n_power_iterations
        if weight.dim() > 1:
            matrix = _as_matrix(weight.detach(), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, _unit(matrix.new_empty(size).normal_(0, 1), eps))
            self._power_method(matrix, 15)

    def _power_method(self, matrix: Any, iterations: int) -> None:
        _power_iteration(matrix, self._u, self._v, iterations, self.eps, u_first=True)

    def forward(self, weight: Any) -> Any:
        if weight.dim() == 1:
            return _unit(weight, self.eps)
        matrix = _as_matrix(weight, self.dim)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        # Backward must see u and v as they are now.
        return weight / self._u.clone().vdot(matrix.mv(self._v.clone()))

    def right_inverse(self, value: Any) -> Any:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divides a weight by its largest singular value."""
    if not hasattr(module, name):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    counted = _dim_of_outputs(module) if dim is None else dim
    made = _SpectralNorm(getattr(module, name), n_power_iterations, counted, eps)
    return parametrize.register_parametrization(module, name, made)


def _make_orthogonal(a: Any) -> Any:
    """The orthogonal factor of a matrix whose triangular one has a positive diagonal."""
    import shim_torch

    q, r = shim_torch.linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _tall(run: Callable[[Any], Any], x: Any) -> Any:
    """``run`` of a matrix at least as high as wide: a wide one is turned for it, and what it gives turned back."""
    return run(x.mT).mT if x.size(-2) < x.size(-1) else run(x)


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
        return _tall(self._orthogonal_of, x)

    def _orthogonal_of(self, x: Any) -> Any:
        import shim_torch as torch

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
        return self.base @ q if hasattr(self, "base") else q

    @_no_grad()
    def right_inverse(self, q: Any) -> Any:
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        return _tall(self._based_on if hasattr(self, "base") else self._reflections, q)

    def _reflections(self, q: Any) -> Any:
        """The matrix whose map is q: Householder's vectors, and on the diagonal the signs that their product leaves."""
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        vectors, factors = q.geqrf()
        signs = vectors.diagonal(dim1=-2, dim2=-1)
        signs.copy_(signs.sign().where(factors != 0.0, -signs.sign()))
        return vectors

    def _based_on(self, q: Any) -> Any:
        """Makes q the base, with columns to a square matrix, and gives a matrix that each map makes the identity."""
        import shim_torch as torch

        *batch, rows, columns = q.shape
        start = q.new_zeros(q.shape)
        if rows != columns:
            q = torch.cat([q, q.new_empty(*batch, rows, rows - columns).normal_()], dim=-1)
        rounding = 10.0 * rows * torch.finfo(q.dtype).eps
        good = rows == columns and (q.mH @ q).allclose(torch.eye(rows, dtype=q.dtype, device=q.device), atol=rounding)
        self.base = q.clone() if good else _make_orthogonal(q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


_MAPS = ("matrix_exp", "cayley", "householder")


def _matrix_of(module: Module, name: str) -> Any:
    found = getattr(module, name, None)
    if not isinstance(found, _core.TensorBase):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if found.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {found.dim()} dimensions.")
    return found


def _map_for(weight: Any, wanted: Any) -> str:
    """A map by its name, or the one that suits a matrix: Householder's is the fastest, for real ones that are not square."""
    suiting = "matrix_exp" if weight.size(-2) == weight.size(-1) or weight.is_complex() else "householder"
    found = suiting if wanted is None else wanted
    if found not in _MAPS:
        raise ValueError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {found}')
    return found


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: Any = None, *, use_trivialization: bool = True
) -> Module:
    """Keeps a matrix (or a batch) orthogonal; orthogonal_map: "matrix_exp", "cayley" or "householder"."""
    weight = _matrix_of(module, name)
    made = _Orthogonal(weight, _map_for(weight, orthogonal_map), use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)
