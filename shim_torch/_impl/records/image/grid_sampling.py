"""Sampling at the places of a grid, and grids of affine maps."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.formulas import alone_on_cuda
from shim_torch._impl.records.shared.interpolation import check_grid, sampled_at
from shim_torch._impl.records.shared.taps import separable_here
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import FLOATS

_METHODLESS: dict[str, Any] = {"method": False}


def _one_kernel(input: Any, grid: Any) -> bool:
    """Whether CUDA has kernels of it and of its gradients."""
    if not (input.is_cuda and grid.is_cuda and input.dim() == grid.dim() == 4 and input.dtype == grid.dtype):
        return False
    few = max(input.numel(), grid.numel(), grid.numel() // 2 * input.size(1)) < 1 << 31
    return few and input.numel() > 0 and grid.numel() > 0 and grid.size(-1) == 2 and input.dtype in FLOATS


def _sampled(input, grid, interpolation_mode, padding_mode, align_corners):
    here = (separable_here(input) and separable_here(grid)) or _one_kernel(input, grid)
    if interpolation_mode in (0, 1) and padding_mode in (0, 1, 2) and here:
        check_grid(input, grid, interpolation_mode)
        return shim.sample_grid(input, grid, interpolation_mode, padding_mode, align_corners)
    return sampled_at(input, grid, interpolation_mode, padding_mode, align_corners)


def _by_dims(input, grid, interpolation_mode, padding_mode, align_corners):
    dims = input.dim()
    run = aten.grid_sampler_2d if dims == 4 else aten.grid_sampler_3d if dims == 5 else _sampled  # which refuses
    return run(input, grid, interpolation_mode, padding_mode, align_corners)


def _gradient_traits(name: str) -> dict[str, Any]:
    return {"gradient_name": True, "forward_error_name": name}


for _name, _kernel, _body, _traits in (
    ("grid_sampler", "grid_sampler_2d_cpu_kernel_impl", _by_dims, {"autocast": "float32_cpu_promote_cuda"}),
    ("grid_sampler_2d", "grid_sampler_2d_cpu_kernel_impl", _sampled, _gradient_traits("grid_sampler_2d")),
    ("grid_sampler_3d", "grid_sampler3d_cpu", _sampled, _gradient_traits("grid_sampler_3d")),
):
    composite(
        f"{_name}(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
        native="grid_sampler", **_METHODLESS, refuses=(("bic", _kernel),), **_traits)(_body)  # fmt: skip


def _affine_base(xp: Any, sizes: Any, dtype: Any, align_corners: bool) -> Any:
    """Homogeneous coordinates of all points of an output of these sizes: (points, spatial dims + 1)."""
    lines = []
    for s in sizes:
        line = xp.linspace(-1, 1, s, dtype=dtype) if s > 1 else xp.zeros((1,), dtype=dtype)
        lines.append(line if align_corners else line * (s - 1) / s)
    grids = xp.meshgrid(*lines, indexing="ij")
    return xp.stack([*reversed(grids), xp.ones_like(grids[0])], -1).reshape(-1, len(sizes) + 1).astype(dtype)


def _affine_grid_backward(g: Any, size: Any, align_corners: bool) -> Any:
    """Gradient of the coordinates (N, *out, n) by the maps (N, n, n + 1)."""
    n = len(size) - 2
    if alone_on_cuda(g):
        return shim.affine_grid_backward(g, size, align_corners)
    identity = torch.eye(n + 1, dtype=g.dtype, device=g.device)[:n].unsqueeze(0)
    places = torch.affine_grid_generator(identity, [1, *size[1:]], align_corners).reshape(-1, n)
    base = torch.cat([places, torch.ones_like(places[:, :1])], 1).t()
    return base.unsqueeze(0).expand(size[0], -1, -1).bmm(g.reshape(size[0], -1, n)).transpose(1, 2)


@op("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", out=True, method=False,
    shape=lambda theta, size, align_corners: (size[0], *size[2:], len(size) - 2), dtype=lambda theta: theta.dtype,
    native="affine_grid", grad={"theta": _affine_grid_backward})  # fmt: skip
def affine_grid_generator(xp, theta, size, align_corners):
    """Places of an affine map for sizes (N, C, *out): (N, *out, spatial dims)."""
    base = _affine_base(xp, size[2:], theta.dtype, align_corners)
    coords = xp.matmul(base[None], theta.swapaxes(1, 2))
    return coords.reshape(size[0], *size[2:], len(size) - 2)


@op("shim::affine_grid_backward(Tensor grad_output, int[] size, bool align_corners) -> Tensor", function=False,
    shape=lambda size: (size[0], len(size) - 2, len(size) - 1), dtype=lambda grad_output: grad_output.dtype,
    native="affine_grid_backward")  # fmt: skip
def affine_grid_backward(xp, grad_output, size, align_corners):
    """The gradient of ``affine_grid_generator`` by its maps."""
    base = _affine_base(xp, size[2:], grad_output.dtype, align_corners)
    return xp.matmul(base.T[None], grad_output.reshape(size[0], -1, len(size) - 2)).swapaxes(1, 2)
