"""grid_sampler and affine_grid_generator: samples of images and volumes at normalised coordinates, and grids of them."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.image.resampling import cubic_weights
from shim_torch._impl.records.shared.formulas import shim, sizes_text
from shim_torch._impl.records.shim.weighted_taps import separable_here
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import FLOATS, NARROW

_METHODLESS: dict[str, Any] = {"method": False}


def _check_grid(input: Any, grid: Any, mode: int) -> None:
    shown = f"input with sizes {sizes_text(input.shape)} and grid with sizes {sizes_text(grid.shape)}"
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {shown}")
    if grid.shape[-1] != input.dim() - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got grid with sizes "
            + sizes_text(grid.shape)
        )
    if input.dim() not in (4, 5) or input.dim() != grid.dim():
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {shown}"
        )
    for d in range(2, input.dim()):
        if input.shape[d] == 0:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{sizes_text(input.shape)} with dimension {d} being empty"
            )
    if input.dim() == 5 and mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype != grid.dtype:
        from shim_torch._utils import _scalar

        raise RuntimeError(f"expected scalar type {_scalar(input.dtype)} but found {_scalar(grid.dtype)}")


def _reflected(x: Any, twice_low: float, twice_high: float) -> Any:
    if twice_low == twice_high:
        return x * 0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    x = (x - low).abs()
    extra = x.fmod(span)
    even = (x / span).floor().remainder(2) == 0
    return (extra + low).where(even, span - extra + low)


def _padded_coords(x: Any, size: int, padding_mode: int, align_corners: bool) -> Any:
    if padding_mode == 1:
        return x.clamp(0, size - 1)
    if padding_mode == 2:
        x = _reflected(x, 0, 2 * (size - 1)) if align_corners else _reflected(x, -1, 2 * size - 1)
        return x.clamp(0, size - 1)
    return x


def _values_at(input: Any, coords: Any) -> Any:
    """Values at integral coordinates (a list, slowest dim first), zero outside: (N, C, *out)."""
    flat: Any = None
    inside: Any = None
    for size, at in zip(input.shape[2:], coords, strict=True):
        good = (at >= 0) & (at < size)
        inside = good if inside is None else inside & good
        at = at.clamp(0, size - 1).nan_to_num(0.0).long()  # what is no number takes nothing; its weight is none either
        flat = at if flat is None else flat * size + at
    n, c = input.shape[:2]
    index = flat.flatten(1).unsqueeze(1).expand(n, c, -1)
    values = input.flatten(2).gather(2, index).reshape(n, c, *flat.shape[1:])
    return values * inside.unsqueeze(1).to(values.dtype)


def _sampled(input: Any, grid: Any, mode: int, padding_mode: int, align_corners: bool) -> Any:
    _check_grid(input, grid, mode)
    if input.dtype in NARROW:
        return _sampled(input.float(), grid.float(), mode, padding_mode, align_corners).to(input.dtype)
    sizes = tuple(input.shape[2:])
    coords = []
    for size, at in zip(sizes, reversed(grid.unbind(-1)), strict=True):
        at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
        coords.append(at if mode == 2 else _padded_coords(at, size, padding_mode, align_corners))
    if mode == 1:
        return _values_at(input, [p.detach().round() for p in coords]) + _no_gradient(coords)
    if mode == 2:
        return _sampled_cubic(input, coords, padding_mode, align_corners)
    lows = [p.detach().floor() for p in coords]
    total: Any = None
    for corner in range(1 << len(sizes)):
        weight: Any = 1
        at = []
        for i, (coord, low) in enumerate(zip(coords, lows, strict=True)):
            up = corner >> i & 1
            at.append(low + up)
            weight = weight * (coord - low if up else low + 1 - coord)
        part = _values_at(input, at) * weight.unsqueeze(1)
        total = part if total is None else total + part
    return total


def _no_gradient(coords: Any) -> Any:
    """Zero that keeps the grid among the inputs: its gradient is zero, as PyTorch's is."""
    total: Any = 0
    for p in coords:
        total = total + (p * 0).nan_to_num(0.0)
    return total.unsqueeze(1)


def _sampled_cubic(input: Any, coords: Any, padding_mode: int, align_corners: bool) -> Any:
    lows = [p.detach().floor() for p in coords]
    weights = [cubic_weights(p - low) for p, low in zip(coords, lows, strict=True)]
    height, width = input.shape[2:]
    total: Any = None
    for i in range(4):
        row: Any = None
        y = _padded_coords(lows[0] - 1 + i, height, padding_mode, align_corners)
        for j in range(4):
            x = _padded_coords(lows[1] - 1 + j, width, padding_mode, align_corners)
            part = _values_at(input, [y, x]) * weights[1][j].unsqueeze(1)
            row = part if row is None else row + part
        row = row * weights[0][i].unsqueeze(1)
        total = row if total is None else total + row
    return total


def _one_kernel(input: Any, grid: Any) -> bool:
    """Whether CUDA has kernels of it and of its gradients."""
    if not (input.is_cuda and grid.is_cuda and input.dim() == grid.dim() == 4 and input.dtype == grid.dtype):
        return False
    few = max(input.numel(), grid.numel(), grid.numel() // 2 * input.size(1)) < 1 << 31
    return few and input.numel() > 0 and grid.numel() > 0 and grid.size(-1) == 2 and input.dtype in FLOATS


for _name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"):

    @composite(
        f"{_name}(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
        native="grid_sampler", **_METHODLESS)  # fmt: skip
    def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
        here = (separable_here(input) and separable_here(grid)) or _one_kernel(input, grid)
        if interpolation_mode in (0, 1) and padding_mode in (0, 1, 2) and here:
            _check_grid(input, grid, interpolation_mode)
            run = shim().sample_grid
            return run(input, grid, interpolation_mode, padding_mode, align_corners)
        return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


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
    import shim_torch

    n = len(size) - 2
    identity = shim_torch.eye(n + 1, dtype=g.dtype, device=g.device)[:n].unsqueeze(0)
    coords = shim_torch.affine_grid_generator(identity, [1, *size[1:]], align_corners).reshape(-1, n)
    base = shim_torch.cat([coords, shim_torch.ones_like(coords[:, :1])], 1).t()
    return base.unsqueeze(0).expand(size[0], -1, -1).bmm(g.reshape(size[0], -1, n)).transpose(1, 2)


@op("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", out=True, method=False,
    shape=lambda theta, size, align_corners: (size[0], *size[2:], len(size) - 2), dtype=lambda theta: theta.dtype,
    native="affine_grid", grad={"theta": _affine_grid_backward})  # fmt: skip
def affine_grid_generator(xp, theta, size, align_corners):
    """Places of an affine map for sizes (N, C, *out): (N, *out, spatial dims)."""
    base = _affine_base(xp, size[2:], theta.dtype, align_corners)
    coords = xp.matmul(base[None], theta.swapaxes(1, 2))
    return coords.reshape(size[0], *size[2:], len(size) - 2)
