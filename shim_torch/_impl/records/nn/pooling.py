"""Pooling by maxima, over windows and to given sizes, and what undoes it."""

from __future__ import annotations

import sys
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import flat, sizes_text
from shim_torch._impl.records.shared.pooling_windows import (
    check_adaptive,
    check_some,
    pool_settings,
    pool_shape,
    pooled_size,
)
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.formats import format_of_strides, in_format
from shim_torch._impl.table.record import composite, op

_INF = float("inf")


# --- maxima ---------------------------------------------------------------------------------------------------------


def _window_places(xp: Any, size: int, out: int, kernel: int, stride: int, padding: int, dilation: int) -> Any:
    places = xp.arange(out)[:, None] * stride - padding + xp.arange(kernel) * dilation
    return places.clip(0, size - 1), (places >= 0) & (places < size)


def _adaptive_places(xp: Any, size: int, out: int) -> Any:
    starts = xp.arange(out) * size // out
    ends = -(-(xp.arange(out) + 1) * size // out)
    widest = int((ends - starts).max()) if out else 1
    places = starts[:, None] + xp.arange(widest)
    return places.clip(0, size - 1), places < ends[:, None]


def _take_maxima(xp: Any, x: Any, places: Any) -> tuple[Any, Any]:
    """Maxima and their flat places over windows: ``places`` has (index, valid) of shape (out, kernel) for each dim."""
    n = len(places)
    lead, sizes = x.shape[:-n], x.shape[-n:]
    flat: Any = None
    valid: Any = None
    for i, (index, good) in enumerate(places):
        shape = [1] * (2 * n)
        shape[i], shape[n + i] = index.shape
        index, good = index.reshape(shape), good.reshape(shape)
        flat = index if flat is None else flat * sizes[i] + index
        valid = good if valid is None else valid & good
    out, kernel = flat.shape[:n], flat.shape[n:]
    flat, valid = (xp.broadcast_to(a, (*out, *kernel)).reshape(*out, _product(kernel)) for a in (flat, valid))
    if not flat.size:
        return xp.zeros((*lead, *out), x.dtype), xp.zeros((*lead, *out), "int64")
    values = x.reshape(*lead, _product(sizes))[..., flat]
    lowest = -_INF if x.dtype.kind == "f" else xp.iinfo(x.dtype).min
    values = xp.where(valid, values, xp.asarray(lowest, x.dtype))
    if x.dtype.kind == "f":  # the first of the largest wins; not a number beats all, and its last one
        missing = xp.isnan(values) & valid
        best = xp.where(
            missing.any(-1), values.shape[-1] - 1 - missing[..., ::-1].argmax(-1), _first_valid(xp, values, valid)
        )
    else:
        best = _first_valid(xp, values, valid)
    taken = xp.take_along_axis(values, best[..., None], -1)[..., 0]
    return taken, xp.take_along_axis(xp.broadcast_to(flat, values.shape), best[..., None], -1)[..., 0]


def _product(sizes: Any) -> int:
    count = 1
    for size in sizes:
        count *= size
    return count


def _first_valid(xp: Any, values: Any, valid: Any) -> Any:
    """The first largest value's place: among values that are all the lowest, the first inside the input."""
    best = values.argmax(-1)
    inside = xp.take_along_axis(xp.broadcast_to(valid, values.shape), best[..., None], -1)[..., 0]
    return xp.where(inside, best, valid.argmax(-1))


def _no_bool(name: str) -> Any:
    def rule(self: Any) -> Any:
        if self.dtype == _core.bool or self.dtype.is_complex:
            raise NotImplementedError(f"\"{name}\" not implemented for '{_core.scalar_name(self.dtype)}'")
        return self.dtype, [self.dtype, _core.int64]

    return rule


def _spread_back(n: int, adaptive: bool = False) -> Any:
    """Gradient of maxima: each goes back to the place it came from."""

    def formula(g: Any, result1: Any, self_shape: Any, self_strides: Any) -> Any:
        lead, windows = tuple(self_shape[:-n]), _product(g.shape[-n:])
        if adaptive and not windows:
            check_some(f"adaptive_max_pool{n}d_backward", n, g)
        spread = g.new_zeros((*lead, _product(self_shape[-n:]))).scatter_add(
            -1, result1.reshape(*lead, windows), g.reshape(*lead, windows)
        )
        wanted = None if adaptive and n == 3 else format_of_strides(self_shape, self_strides)
        return in_format(spread.reshape(self_shape), wanted)

    return flat(formula)


def _declare_max(n: int) -> None:
    name = f"max_pool{n}d_with_indices"
    arguments = f"Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding=0, int[{n}] dilation=1, bool ceil_mode=False"

    def settings(kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> Any:
        return pool_settings(f"max_pool{n}d", n, kernel_size, stride, padding, dilation)

    def shape(self, kernel_size, stride, padding, dilation, ceil_mode):
        found = pool_shape(f"max_pool{n}d", n, self, settings(kernel_size, stride, padding, dilation), ceil_mode)
        return [found, found]

    def run(xp, self, kernel_size, stride, padding, dilation, ceil_mode):
        chosen = settings(kernel_size, stride, padding, dilation)
        sizes = self.shape[-n:]
        places = []
        for i in range(n):
            k, s, p, d = (c[i] for c in chosen)
            out = pooled_size(sizes[i], k, s, p, d, ceil_mode)
            places.append(_window_places(xp, sizes[i], out, k, s, p, d))
        return _take_maxima(xp, self, places)

    function = {"method": False, "function": False}
    op(f"{name}({arguments}) -> (Tensor, Tensor)", shape=shape, native=name, dtype=_no_bool(f"max_pool{n}d"), foreseen="any",
       out=("out", "indices"), differentiable=(0,), grad={"self": _spread_back(n)}, follows=("self",), channels_last="kept",
       **function)(run)  # fmt: skip

    @composite(f"max_pool{n}d({arguments}) -> Tensor", method=False, native=f"max_pool{n}d", channels_last="kept",
               **({} if n < 3 else {"autocast": "float32_cpu"}))  # fmt: skip
    def max_pool(self, kernel_size, stride, padding, dilation, ceil_mode):
        return _core.function(f"aten::{name}")(self, kernel_size, stride, padding, dilation, ceil_mode)[0]

    def adaptive_shape(self, output_size):
        dims = tuple(self.shape)
        check_adaptive(f"adaptive_max_pool{n}d", n, dims, output_size, ": ")
        return [(*dims[:-n], *output_size)] * 2

    def adaptive(xp, self, output_size):
        return _take_maxima(
            xp, self, [_adaptive_places(xp, s, o) for s, o in zip(self.shape[-n:], output_size, strict=True)]
        )

    op(f"adaptive_max_pool{n}d(Tensor self, int[{n}] output_size) -> (Tensor, Tensor)", shape=adaptive_shape, native=f"adaptive_max_pool{n}d",
       dtype=_no_bool(f"adaptive_max_pool{n}d"), out=("out", "indices"), differentiable=(0,), grad={"self": _spread_back(n, True)}, foreseen="any",
       follows=() if n == 3 else ("self",), channels_last="kept", **function,
       **({} if n < 3 else {"autocast": "float32_cpu"}), refuses=(("bic", "adaptive_max_pool3d_cpu" if n == 3 else "adaptive_max_pool2d"),))(adaptive)  # fmt: skip


for _n in (2, 3):
    _declare_max(_n)

_ARGUMENTS_1D = (
    "Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], int[1] dilation=[1], bool ceil_mode=False"
)


@composite(f"max_pool1d_with_indices({_ARGUMENTS_1D}) -> (Tensor, Tensor)", method=False)
def max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode):
    """``max_pool1d``, and the place in the input of each maximum (int64): views of what two dims' give."""
    chosen = pool_settings("max_pool1d", 1, kernel_size, stride, padding, dilation)
    pool_shape("max_pool1d", 1, self, chosen, ceil_mode)
    kernel, stride, padding, dilation = ((beside, *sizes) for beside, sizes in zip((1, 1, 0, 1), chosen, strict=True))
    found = aten.max_pool2d_with_indices(self.unsqueeze(-2), kernel, stride, padding, dilation, ceil_mode)
    return tuple(x.squeeze(-2) for x in found)


@composite(f"max_pool1d({_ARGUMENTS_1D}) -> Tensor", method=False, native="max_pool1d", refuses=(("bi", "max_pool2d"),))
def max_pool1d(self, kernel_size, stride, padding, dilation, ceil_mode):
    """The largest of each window of ``kernel_size`` places of (C, L) or (N, C, L), ``stride`` apart."""
    chosen = pool_settings("max_pool1d", 1, kernel_size, stride, padding, dilation)
    pool_shape("max_pool1d()", 1, self, chosen, ceil_mode)
    return aten.max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


@composite("adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)", method=False,
           refuses=(("bic", "adaptive_max_pool2d"),))  # fmt: skip
def adaptive_max_pool1d(self, output_size):
    """The largest of ``output_size`` parts of (C, L) or (N, C, L), and their places (int64)."""
    check_adaptive("adaptive_max_pool1d", 1, self.shape, output_size, ": ")
    found = aten.adaptive_max_pool2d(self.unsqueeze(-2), (1, *output_size))
    return tuple(x.squeeze(-2) for x in found)


@composite(
    "max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor", autocast="float32_cpu", gradient_name=True,
    method=False, function=False, follows=("self",), refuses=(("bic", "max_unpool2d"),))  # fmt: skip
def max_unpool2d(self, indices, output_size):
    """``input`` at the places that ``max_pool2d`` found (flat in height and width, int64), zeros elsewhere."""
    return _unpool(self, indices, output_size)


@composite(
    "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor", autocast="float32_cpu", gradient_name=True,
    method=False, function=False, refuses=(("bic", "max_unpool3d"),))  # fmt: skip
def max_unpool3d(self, indices, output_size, stride, padding):
    """``input`` at the places that ``max_pool3d`` found (flat in the last three dims, int64), zeros elsewhere."""
    for name, value in (("output_size", output_size), ("stride", stride), ("padding", padding)):
        if len(value) != 3:
            got = f"{len(value)} elements." if name == "output_size" else f": {len(value)} elements."
            raise RuntimeError(
                f"There should be exactly three elements (depth, height, width) in {name}, but got{' ' * (got[0] != ':')}{got}"
            )
    if min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {sizes_text(stride)}")
    return _unpool(self, indices, output_size)


def _unpool(self: Any, indices: Any, output_size: Any) -> Any:
    """Values at the places max pooling found them, zeros elsewhere."""
    from shim_torch._impl.tensor.python_functions import alert_not_deterministic

    n = len(output_size)
    alert_not_deterministic(f"max_unpooling{n}d_forward_out")  # two values may have the same place
    if self.dim() not in (n + 1, n + 2):
        dims = "3d or 4d" if n == 2 else "4d or 5d"
        raise RuntimeError(
            f"Input to max_unpooling{n}d should be a {dims} Tensor, but got a tensor with {self.dim()} dimensions."
        )
    if indices.dtype != _core.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {_core.scalar_name(indices.dtype)}")
    if self.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({sizes_text(self.shape)}) but got indices tensor "
            f"with shape: {sizes_text(indices.shape)}"
        )
    lead = tuple(self.shape[:-n])
    count = 1
    for size in output_size:
        count *= size
    places = 1
    for size in self.shape[len(lead) :]:
        places *= size
    flat = indices.reshape(*lead, places)
    if not flat.is_meta and flat.numel() and bool(((flat < 0) | (flat >= count)).any()):
        bad = flat[(flat < 0) | (flat >= count)]
        wrong = (bad[-1] if n == 3 else bad[0]).item()
        volume = "x".join(map(str, output_size))
        raise RuntimeError(f"Found an invalid max index: {wrong} (output volumes are of size {volume})")
    values = self.reshape(*lead, places)
    if (
        _tangents_are_taken()
    ):  # of values with one place the last one's stays, and so does its tangent; gradients go to each
        order = torch.arange(places, device=flat.device).expand_as(flat)
        stays = (
            torch.zeros((*lead, count), dtype=order.dtype, device=flat.device).scatter(-1, flat, order).gather(-1, flat)
        )
        values = values.masked_fill(stays != order, 0)
        return values.new_zeros((*lead, count)).scatter_add(-1, flat, values).reshape(*lead, *output_size)
    spread = self.new_zeros((*lead, count)).scatter(-1, flat, values)
    return torch._unsafe_view(spread, (*lead, *output_size))


def _tangents_are_taken() -> bool:
    """Whether a level of forward mode is open or ``torch.func.jvp`` runs."""
    if _core._is_dual_level_open():
        return True
    levels = sys.modules.get("shim_torch._impl.transforms.levels")  # without it nothing runs
    return levels is not None and any(getattr(t, "kind", "") == "Jvp" for t in levels.running)
