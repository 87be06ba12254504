"""Interpolation in tensor operations: cubic weights, and samples at the places of a grid."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import sizes_text
from shim_torch._impl.table.rules import NARROW


def cubic_weights(t: Any, a: float = -0.75) -> list[Any]:
    """Weights of the four taps around a place, ``t`` past the second."""

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def check_grid(input: Any, grid: Any, mode: int) -> None:
    """RuntimeError in the words of ``grid_sampler`` for an input and a grid that do not go together."""
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
        raise RuntimeError(
            f"expected scalar type {_core.scalar_name(input.dtype)} but found {_core.scalar_name(grid.dtype)}"
        )


def _reflected(x: Any, twice_low: float, twice_high: float) -> Any:
    if twice_low == twice_high:
        return x * 0
    low, span = twice_low / 2, (twice_high - twice_low) / 2
    x = (x - low).abs()
    extra = x.fmod(span)
    even = (x / span).floor().remainder(2) == 0
    return (extra + low).where(even, span - extra + low)


def _padded_coords(x: Any, size: int, padding_mode: int, align_corners: bool) -> Any:
    if padding_mode == 0:
        return x
    if padding_mode == 2:
        x = _reflected(x, 0, 2 * (size - 1)) if align_corners else _reflected(x, -1, 2 * size - 1)
    # On the border too, where clamp's gradient is one, a place does not move.
    return x.where((x > 0) & (x < size - 1), x.detach().clamp(0, size - 1))


def _values_at(input: Any, places: Any) -> Any:
    """Values at whole places (a list, slowest dim first), zero outside: (N, C, *out)."""
    flat: Any = None
    inside: Any = None
    for size, at in zip(input.shape[2:], places, strict=True):
        good = (at >= 0) & (at < size)
        inside = good if inside is None else inside & good
        at = at.clamp(0, size - 1).nan_to_num(0.0).long()  # what is no number takes nothing; its weight is none either
        flat = at if flat is None else flat * size + at
    n, c = input.shape[:2]
    index = flat.flatten(1).unsqueeze(1).expand(n, c, -1)
    values = input.flatten(2).gather(2, index).reshape(n, c, *flat.shape[1:])
    return values * inside.unsqueeze(1).to(values.dtype)


def sampled_at(input: Any, grid: Any, mode: int, padding_mode: int, align_corners: bool) -> Any:
    """Samples (N, C, *out) of images or volumes at the places (N, *out, dims) of a grid, as ``grid_sampler`` numbers its modes."""
    check_grid(input, grid, mode)
    if input.dtype in NARROW:
        return sampled_at(input.float(), grid.float(), mode, padding_mode, align_corners).to(input.dtype)
    sizes = tuple(input.shape[2:])
    places = []
    for size, at in zip(sizes, reversed(grid.unbind(-1)), strict=True):
        at = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
        places.append(at if mode == 2 else _padded_coords(at, size, padding_mode, align_corners))
    if mode == 1:
        return _values_at(input, [p.detach().round() for p in places]) + _no_gradient(places)
    if mode == 2:
        return _sampled_cubic(input, places, padding_mode, align_corners)
    lows = [p.detach().floor() for p in places]
    total: Any = None
    for corner in range(1 << len(sizes)):
        weight: Any = 1
        at = []
        for i, (place, low) in enumerate(zip(places, lows, strict=True)):
            up = corner >> i & 1
            at.append(low + up)
            weight = weight * (place - low if up else low + 1 - place)
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
