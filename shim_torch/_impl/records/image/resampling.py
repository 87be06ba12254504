"""Resampling to other sizes: nearest, linear, cubic, antialiased."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import widened
from shim_torch._impl.records.shared.interpolation import cubic_weights
from shim_torch._impl.records.shared.taps import separable, taps_here
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.formats import gradient_like_results
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import NARROW

_HIDDEN: dict[str, Any] = {"function": False, "method": False, "out": True, "gradient_name": True}


def _places(x: Any, size: int, exact: bool = False) -> Any:
    """0, 1, ... size - 1 in the dtype that places are computed in."""
    dtype = _core.float64 if x.dtype == _core.float64 and not exact else _core.float32
    return torch.arange(size, dtype=dtype, device=x.device)


def _check(self: Any, n: int, output_size: Any) -> None:
    if len(output_size) != n:
        raise RuntimeError(f"It is expected output_size equals to {n}, but got size {len(output_size)}")
    if self.dim() != n + 2:
        raise RuntimeError(f"It is expected input_size equals to {n + 2}, but got size {self.dim()}")
    sizes = self.shape[2:]
    if min(*sizes, *output_size) <= 0:
        given, wanted = (
            ", ".join(f"{a}: {s}" for a, s in zip("DHW"[-n:], every, strict=True)) for every in (sizes, output_size)
        )
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({given}) output ({wanted})"
        )
    if self.dtype == _core.bool or self.is_complex():
        raise NotImplementedError(f"upsampling is not implemented for '{_core.scalar_name(self.dtype)}'")


def _scale(size: int, out: int, given: float | None, align_corners: bool = False) -> float:
    if align_corners:
        return (size - 1) / (out - 1) if out > 1 else 0.0
    return 1.0 / given if given is not None and given > 0 else size / out


def _nearest(self: Any, output_size: Any, scales: Any, exact: bool) -> Any:
    _check(self, len(output_size), output_size)
    if len(output_size) == 2 and not exact:  # of images, a dim that keeps its size is copied, whatever factor is given
        scales = [None if n == m else f for n, m, f in zip(output_size, self.shape[2:], scales, strict=True)]
    if self.is_floating_point() and self.numel() and self.is_contiguous() and _core.unseen_on_cuda(self):
        return shim.nearest(self, list(output_size), [*map(_scale, self.shape[2:], output_size, scales)], exact)
    if (found := _resized(self, output_size, scales, _nearest_taps, exact)) is not None:
        return found
    x = self
    for i, (out, given) in enumerate(zip(output_size, scales, strict=True)):
        size = self.shape[2 + i]
        if out == size and given is None:
            continue
        at = _places(self, out, exact=True)
        at = (at + 0.5 if exact else at) * _scale(size, out, given, False)
        x = x.index_select(2 + i, at.floor().long().clamp(0, size - 1))
    return x.clone() if x is self else x


def _source(self: Any, size: int, out: int, given: float | None, align_corners: bool, cubic: bool) -> Any:
    at, scale = _places(self, out), _scale(size, out, given, align_corners)
    if size == out and not cubic:  # copied, whatever factor is given
        return at
    if align_corners:
        return at * scale
    source = (at + 0.5) * scale - 0.5
    return source if cubic else source.clamp(min=0)


def _nearest_taps(x: Any, size: int, out: int, given: float | None, exact: bool) -> tuple[Any, Any]:
    at = _places(x, out, exact=True)
    at = (at + 0.5 if exact else at) * _scale(size, out, given, False)
    return at.floor().long().clamp(0, size - 1).unsqueeze(1), x.new_ones((out, 1))


def _linear_taps(x: Any, size: int, out: int, given: float | None, align_corners: bool) -> tuple[Any, Any]:
    source = _source(x, size, out, given, align_corners, False)
    low = source.floor().clamp(max=size - 1)
    high, first = (source - low).to(x.dtype), low.long()
    stack = torch.stack
    return stack([first, (first + 1).clamp(max=size - 1)], 1), stack([1 - high, high], 1)


def _cubic_taps(x: Any, size: int, out: int, given: float | None, align_corners: bool) -> tuple[Any, Any]:
    source = _source(x, size, out, given, align_corners, True)
    low = source.floor()
    weights, first = cubic_weights(source - low), low.long() - 1
    stack = torch.stack
    return stack([(first + k).clamp(0, size - 1) for k in range(4)], 1), stack([w.to(x.dtype) for w in weights], 1)


def _resized(self: Any, output_size: Any, scales: Any, make: Any, setting: bool) -> Any:
    """``self`` by the taps of each dim, where that is one kernel a dim; else None."""
    if self.is_cuda and self.dtype in NARROW:
        found = _resized(self.float(), output_size, scales, make, setting)
        return None if found is None else found.to(self.dtype)
    if self.is_meta or not taps_here(self):  # no table of taps for what has no elements
        return None
    sizes = self.shape[2:]
    keys = [(s, out, given, setting) for s, out, given in zip(sizes, output_size, scales, strict=True)]
    return separable(self, 2, make, keys)


def _shaped(w: Any, d: int, ndim: int, dtype: Any) -> Any:
    return w.to(dtype).reshape([-1 if i == d else 1 for i in range(ndim)])


def _linear(self: Any, output_size: Any, align_corners: bool, scales: Any) -> Any:
    _check(self, len(output_size), output_size)
    if not self.is_floating_point():
        return _whole(self, lambda x, *to: _linear(x, to[0], align_corners, to[1]), output_size, scales)
    found = _resized(self, output_size, scales, _linear_taps, align_corners)
    if found is not None:
        return found
    x = widened(self)
    for i, (out, given) in enumerate(zip(output_size, scales, strict=True)):
        d, size = 2 + i, self.shape[2 + i]
        source = _source(x, size, out, given, align_corners, False)
        low = source.floor().clamp(max=size - 1)
        high = _shaped(source - low, d, x.dim(), x.dtype)
        first = low.long()
        x = x.index_select(d, first) * (1 - high) + x.index_select(d, (first + 1).clamp(max=size - 1)) * high
    return x.to(self.dtype) if self.dtype in NARROW else x


def _whole(self: Any, run: Any, output_size: Any, scales: Any) -> Any:
    n = len(output_size)
    if self.dtype != _core.uint8:
        raise NotImplementedError(f"\"upsample_{n}d\" not implemented for '{_core.scalar_name(self.dtype)}'")
    if n == 2 and self.size(1) <= 4 and self.device.type == "cpu":
        return _picture(self, run, output_size, scales)
    return run(self.float(), output_size, scales).round().clamp(0, 255).to(_core.uint8)


def _picture(self: Any, run: Any, output_size: Any, scales: Any) -> Any:
    """Images of bytes as PyTorch's (and Pillow's) kernels do them: rows, then columns, with weights of 16 bits, and bytes
    between the two."""
    x = self
    for d in (3, 2):
        size, out = self.size(d), output_size[d - 2]
        if size == out:
            continue
        one = torch.eye(size, dtype=_core.float64).view(1, size, size, 1)
        weights = run(one, (out, 1), (scales[d - 2], None)).view(size, out)  # what each source gives to each result
        most, bits = float(weights.max()), 0
        while bits < 22 and int(0.5 + most * (1 << (bits + 1))) < 1 << 15:
            bits += 1
        scaled = weights * (1 << bits)
        whole = (scaled.abs() + 0.5).floor() * scaled.sign()
        moved = x.transpose(d, 3).to(_core.float64) @ whole  # sums below 2 ** 32: exact
        x = ((moved + (1 << (bits - 1))) / (1 << bits)).floor().clamp(0, 255).to(_core.uint8).transpose(d, 3)
    return x.clone() if x is self else x


def _cubic(self: Any, output_size: Any, align_corners: bool, scales: Any) -> Any:
    _check(self, 2, output_size)
    if not self.is_floating_point():
        return _whole(self, lambda x, *to: _cubic(x, to[0], align_corners, to[1]), output_size, scales)
    found = _resized(self, output_size, scales, _cubic_taps, align_corners)
    if found is not None:
        return found
    x = widened(self)
    for i, (out, given) in enumerate(zip(output_size, scales, strict=True)):
        d, size = 2 + i, self.shape[2 + i]
        source = _source(x, size, out, given, align_corners, True)
        low = source.floor()
        weights = cubic_weights(source - low)
        first = low.long() - 1
        total: Any = None
        for k, w in enumerate(weights):
            part = x.index_select(d, (first + k).clamp(0, size - 1)) * _shaped(w, d, x.dim(), x.dtype)
            total = part if total is None else total + part
        x = total
    return x.to(self.dtype) if self.dtype in NARROW else x


def _triangle(x: Any) -> Any:
    return (1 - x.abs()).clamp(min=0)


def _cubic_kernel(x: Any) -> Any:
    a, x = -0.5, x.abs()
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return near.where(x < 1, far.where(x < 2, 0.0))


def _lanczos_kernel(x: Any) -> Any:
    return (torch.sinc(x) * torch.sinc(x / 3)).where(x.abs() < 3, 0.0)


def _span_weights(
    x: Any, size: int, out: int, given: float | None, align_corners: bool, kernel: Any, support: float
) -> tuple[Any, Any, Any]:
    """What every source gives to every result (out, size), and where each result's sources begin and end."""
    scale = _scale(size, out, given, align_corners)
    reach, inverse = (support * scale, 1 / scale) if scale >= 1 else (support, 1.0)
    centre = (scale * (_places(x, out) + 0.5)).unsqueeze(1)
    first = (centre - reach + 0.5).trunc().clamp(min=0)
    last = (centre + reach + 0.5).trunc().clamp(max=size)
    at = _places(x, size)
    weights = kernel((at - centre + 0.5) * inverse) * ((at >= first) & (at < last))
    return (weights / weights.sum(1, keepdim=True)).to(x.dtype), first.long(), last.long()


def _spans(kernel: Any) -> Any:
    def make(x: Any, size: int, out: int, given: float | None, align_corners: bool, support: float) -> tuple[Any, Any]:
        weights, first, last = _span_weights(x, size, out, given, align_corners, kernel, support)
        at = first + torch.arange(int((last - first).max()), device=x.device)
        return at.where(at < last, -1), weights.gather(1, at.clamp(max=size - 1))

    return make


_SPANS = {kernel: _spans(kernel) for kernel in (_triangle, _cubic_kernel, _lanczos_kernel)}


def _antialiased(self: Any, output_size: Any, align_corners: bool, scales: Any, kernel: Any, support: float) -> Any:
    _check(self, 2, output_size)
    if not self.is_floating_point():
        return _whole(
            self, lambda x, *to: _antialiased(x, to[0], align_corners, to[1], kernel, support), output_size, scales
        )
    if not self.is_cuda:  # PyTorch's kernel for the CPU copies a dim that keeps its size, the one for CUDA does not
        scales = [None if n == m else f for n, m, f in zip(output_size, self.shape[2:], scales, strict=True)]
    if self.is_cuda and self.dtype in NARROW:
        return _antialiased(self.float(), output_size, align_corners, scales, kernel, support).to(self.dtype)
    if not self.is_meta and taps_here(self):
        keys = [
            (s, out, given, align_corners, support)
            for s, out, given in zip(self.shape[2:], output_size, scales, strict=True)
        ]
        return separable(self, 2, _SPANS[kernel], keys)
    x = widened(self)
    for i, (out, given) in enumerate(zip(output_size, scales, strict=True)):
        d, size = 2 + i, self.shape[2 + i]
        weights = _span_weights(x, size, out, given, align_corners, kernel, support)[0]
        x = x.movedim(d, -1).matmul(weights.t()).movedim(-1, d)
    return x.to(self.dtype) if self.dtype in NARROW else x


def _named(n: int) -> str:
    names = ("scales",) if n == 1 else ("scales_d", "scales_h", "scales_w")[-n:]
    return ", ".join(f"float? {s}=None" for s in names)


def _laid_out(result: Any, source: Any) -> Any:
    """``result`` with channels last where the strides of ``source``, a part of a picture too, tell of that; else contiguous."""
    format = _core.suggest_memory_format(source)
    return result.contiguous() if format == _core.contiguous_format else result.contiguous(memory_format=format)


def _declare(name: str, n: int, run: Any, aligned: bool, *refuses: tuple[str, str]) -> None:
    align = ", bool align_corners" if aligned else ""
    dtype = "exact" if "nearest" in name else "structured"

    def laid_out(source, *settings):
        return _laid_out(gradient_like_results(source, lambda x: run(x, *settings), "cubic" not in name), source)

    def fixed(self, output_size, *more):
        return laid_out(self, output_size, *more[:aligned], more[aligned:])

    def chosen(input, output_size, *more):
        factors = more[-1]
        if output_size is None and factors is None:
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        if output_size is None:
            output_size = [int(s * f) for s, f in zip(input.shape[2:], factors, strict=True)]
        return laid_out(input, output_size, *more[:aligned], (None,) * n if factors is None else factors)

    sizes = f"Tensor self, SymInt[{n}] output_size{align}, {_named(n)}"
    told = {**_HIDDEN, "refuses": refuses, "channels_last": "kept", "out_dtype": dtype}
    composite(f"{name}({sizes}) -> Tensor", native=name, **told)(fixed)
    factors = f"{name}.vec(Tensor input, SymInt[]? output_size{align}, float[]? scale_factors) -> Tensor"
    composite(factors, **{**told, "out": False, "native": f"{name}_vec"})(chosen)


for _n in (1, 2, 3):
    _refused = "bsc", "upsample_nearest2d_channels_last" if _n == 2 else "compute_indices_weights_nearest"
    for _name, _exact in ((f"upsample_nearest{_n}d", False), (f"_upsample_nearest_exact{_n}d", True)):
        _declare(_name, _n, lambda x, size, scales, e=_exact: _nearest(x, size, scales, e), False, _refused)
_declare("upsample_linear1d", 1, _linear, True, ("bic", "compute_indices_weights_linear"))
_declare("upsample_trilinear3d", 3, _linear, True, ("bic", "compute_indices_weights_linear"))
_declare("upsample_bilinear2d", 2, _linear, True, ("bsc", "upsample_bilinear2d_channels_last"))
_declare("upsample_bicubic2d", 2, _cubic, True, ("bsc", "compute_indices_weights_cubic"))
for _name, _of, _reach in (
    ("_upsample_bilinear2d_aa", _triangle, 1.0),
    ("_upsample_bicubic2d_aa", _cubic_kernel, 2.0),
    ("_upsample_lanczos2d_aa", _lanczos_kernel, 3.0),
):
    _run = (lambda of, reach: lambda s, o, a, f: _antialiased(s, o, a, f, of, reach))(_of, _reach)
    _declare(_name, 2, _run, True, ("bscl", "compute_index_ranges_weights"))
