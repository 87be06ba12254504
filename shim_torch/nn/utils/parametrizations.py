"""``torch.nn.utils.parametrizations``: weights of unit norm, of bounded spectral norm, and orthogonal ones."""

from __future__ import annotations

from typing import Any

from shim_torch.autograd.grad_mode import no_grad
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
        with no_grad():
            for _ in range(iterations):
                self._u.copy_(normalize(matrix.mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(normalize(matrix.t().mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Any) -> Any:
        import shim_torch

        if weight.dim() == 1:
            return shim_torch.nn.functional.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / shim_torch.dot(u, matrix.mv(v))

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


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: Any = None, *, use_trivialization: bool = True
) -> Module:
    raise NotImplementedError("torch.nn.utils.parametrizations.orthogonal is not supported by shim-torch")
