"""Pooling by means, over windows and to given sizes."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.pooling_windows import (
    check_adaptive,
    check_some,
    pool_settings,
    pool_shape,
    pooled_size,
)
from shim_torch._impl.records.shared.taps import separable, separable_here
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.formats import gradient_in_format, in_plain_order
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import NARROW


def _mean_over_windows(self: Any, n: int, settings: Any, ceil_mode: bool, include_pad: bool, divisor: Any) -> Any:
    kernel, stride, padding, _ = settings
    sizes, first = self.shape[-n:], self.dim() - n
    out = [pooled_size(sizes[i], *[s[i] for s in settings], ceil_mode) for i in range(n)]  # type: ignore[call-arg]
    narrow = self.dtype if self.dtype in NARROW else None
    x = self.float() if narrow is not None else self
    ends = [max((out[i] - 1) * stride[i] + kernel[i] - sizes[i] - padding[i], 0) for i in range(n)]
    if any(padding) or any(ends):
        x = aten.constant_pad_nd(x, [v for i in reversed(range(n)) for v in (padding[i], ends[i])])
    for i in range(n):
        x = x.narrow(first + i, 0, (out[i] - 1) * stride[i] + kernel[i]).unfold(first + i, kernel[i], stride[i])
    total = x.sum(list(range(self.dim(), self.dim() + n)))
    if divisor is None:
        count: Any = 1
        for i in range(n):
            place = torch.arange(out[i], device=self.device) * stride[i] - padding[i]
            end = (place + kernel[i]).clamp(max=sizes[i] + padding[i])
            size = end - place if include_pad else end.clamp(max=sizes[i]) - place.clamp(min=0)
            count = count * size.reshape([-1 if j == i else 1 for j in range(n)])
    else:
        count = divisor
    if not total.is_floating_point():
        return total.div(count, rounding_mode="trunc").to(self.dtype)
    total = total / count
    return total if narrow is None else total.to(narrow)


def _window_taps(
    x: Any, size: int, out: int, kernel: int, stride: int, padding: int, include_pad: bool, divided: bool
) -> tuple[Any, Any]:
    """Where each window lies in its dim, and what part of its mean an element is."""
    start = torch.arange(out, device=x.device) * stride - padding
    end = (start + kernel).clamp(max=size + padding)
    first, last = start.clamp(min=0), end.clamp(max=size)
    counted = (end - start if include_pad else last - first) if divided else None
    return _span_taps(x, first, last, counted)


def _part_taps(x: Any, size: int, out: int) -> tuple[Any, Any]:
    place = torch.arange(out, device=x.device)
    first, last = place * size // out, ((place + 1) * size + out - 1) // out
    return _span_taps(x, first, last, last - first)


def _span_taps(x: Any, first: Any, last: Any, counted: Any) -> tuple[Any, Any]:
    at = first.unsqueeze(1) + torch.arange(max(int((last - first).max()), 1), device=x.device)
    each = x.new_ones(first.shape) if counted is None else 1 / counted.to(x.dtype)
    return at.where(at < last.unsqueeze(1), -1), each.unsqueeze(1).expand(at.shape).contiguous()


def _mean_of_boxes(self: Any, settings: Any, ceil_mode: bool, include_pad: bool, divisor: Any) -> Any:
    kernel, stride, padding, _ = settings
    keys = []
    for i, size in enumerate(self.shape[-3:]):
        out = pooled_size(size, *[s[i] for s in settings], ceil_mode)  # type: ignore[call-arg]
        keys.append((size, out, kernel[i], stride[i], padding[i], include_pad, divisor is None))
    total = separable(self, self.dim() - 3, _window_taps, keys)
    return total if divisor is None else total / divisor


def _declare_mean(n: int) -> None:
    zero = "[0]" if n == 1 else "0"
    more = "" if n == 1 else ", int? divisor_override=None"

    @composite(
        f"avg_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding={zero}, bool ceil_mode=False, bool count_include_pad=True{more}) -> Tensor", gradient_name=True if n > 1 else "SqueezeBackward1",
        method=False, out=True, module="" if n == 1 else "nn.functional", follows=() if n == 3 else ("self",),
        native=f"avg_pool{n}d", channels_last="kept", refuses=(("bcml", "avg_pool3d_out_frame") if n == 3 else ("bcm", "avg_pool2d"),),
        **({} if n == 1 else {"out_dtype": "structured"}), **({} if n < 3 else {"autocast": "float32_cpu"}))  # fmt: skip
    def avg_pool(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
        name = f"avg_pool{n}d"
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        if n == 1:
            if self.dim() not in (2, 3):
                check_adaptive(name, 1, tuple(self.shape), (1,), " ")
        elif n == 2 and self.dim() < 3:
            self.size(-3)
        settings = pool_settings(name, n, kernel_size, stride, padding)
        pool_shape(name, n, self, settings, ceil_mode)
        if self.dtype == _core.bool:
            raise NotImplementedError(f"\"avg_pool{n}d_out_frame\" not implemented for 'Bool'")
        if n == 2 and self.is_floating_point() and (self.is_cuda or _core.unseen(self)):
            kernel, step, pad, _ = settings
            return shim.mean_pool(self, kernel, step, pad, ceil_mode, count_include_pad, divisor_override or 0)
        self = _core.flat_input(gradient_in_format(self) if n == 2 else self)
        if n == 3 and separable_here(self):
            return _mean_of_boxes(self, settings, ceil_mode, count_include_pad, divisor_override)
        if n == 1 and self.is_floating_point() and _core.unseen(self) and in_plain_order(self) and self.numel():
            kernel, step, pad = ((1, s[0]) if i < 2 else (0, s[0]) for i, s in enumerate(settings[:3]))
            pooled = shim.mean_pool(self.unsqueeze(-2), kernel, step, pad, ceil_mode, count_include_pad, 0)
            return pooled.squeeze(-2)
        return _mean_over_windows(self, n, settings, ceil_mode, count_include_pad, divisor_override)

    size = "int[1]" if n == 1 else f"SymInt[{n}]"

    @composite(
        f"adaptive_avg_pool{n}d(Tensor self, {size} output_size) -> Tensor",
        gradient_name=True if n > 1 else "SqueezeBackward1",
        method=False,
        out=True,
        function=n == 1,
        follows=() if n == 3 else ("self",),
        native=f"adaptive_avg_pool{n}d",
        channels_last="kept",
        **({} if n < 3 else {"autocast": "float32_cpu"}),
    )
    def adaptive_avg_pool(self, output_size):
        return _adaptive_mean(f"adaptive_avg_pool{n}d", n, self, output_size)


def _adaptive_mean(name: str, n: int, self: Any, output_size: Any) -> Any:
    check_adaptive(name, n, tuple(self.shape), output_size, " ")
    if not self.is_floating_point():
        if all(o == 1 for o in output_size):
            return self.mean(list(range(-n, 0)), keepdim=True)
        kernel = "adaptive_avg_pool3d_cpu" if n == 3 else "adaptive_avg_pool2d"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{_core.scalar_name(self.dtype)}'")
    sizes = tuple(self.shape[-n:])
    if n == 2 and 0 not in output_size and (self.is_cuda or _core.unseen(self)):
        if all(s % o == 0 for s, o in zip(sizes, output_size, strict=True)):
            window = [s // o for s, o in zip(sizes, output_size, strict=True)]
            if output_size[0] == output_size[1] == 1:
                whole = self.mean((-1, -2), keepdim=True)
                if self.dim() == 4 and _core.suggest_memory_format(self) == _core.channels_last:
                    channels = whole.size(1)
                    whole = whole.as_strided(whole.shape, (channels, 1, channels, channels))
                return whole
            return shim.mean_pool(self, window, window, (0, 0), False, True, 0)
    averaged = n == 2 and any(o != 1 for o in output_size)  # one mean of all is what mean gives
    self = _core.flat_input(gradient_in_format(self, contiguous=True) if averaged else self)
    narrow = self.dtype if self.dtype in NARROW else None
    x = self.float() if narrow is not None else self
    if 0 not in output_size and (averaged or n != 2) and separable_here(x):
        y = separable(x, x.dim() - n, _part_taps, list(zip(sizes, output_size, strict=True)))
        return y if narrow is None else y.to(narrow)
    for i, out in enumerate(output_size):
        d = self.dim() - n + i
        size = self.shape[d]
        if out and size % out == 0:
            x = x.unflatten(d, (out, size // out)).mean(d + 1)
            continue
        place = torch.arange(out, device=self.device)
        start, end = place * size // out if out else place, ((place + 1) * size + out - 1) // max(out, 1)
        at = torch.arange(size, device=self.device)
        inside = (at >= start.unsqueeze(1)) & (at < end.unsqueeze(1))
        weights = inside.to(x.dtype) / (end - start).unsqueeze(1).to(x.dtype)
        x = x.movedim(d, -1).matmul(weights.t()).movedim(-1, d)
    y = x.contiguous() if narrow is None else x.to(narrow)
    if 0 in output_size and y.requires_grad:
        y.register_hook(lambda g: check_some(f"{name}_backward", n, g))
    if n == 2 and all(o == 1 for o in output_size) and _core.suggest_memory_format(self) == _core.channels_last:
        c = y.size(-3)
        return y.as_strided((y.size(0), c, 1, 1), (c, 1, c, c)) if self.dim() == 4 else y
    return y


for _n in (1, 2, 3):
    _declare_mean(_n)
