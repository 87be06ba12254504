"""Discrete Fourier transforms: three kernels (complex, from real, to real)."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import differentiated
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import wrap_dim

_HIDDEN: dict[str, Any] = {"function": False, "method": False, "out": True}


def _scaled(xp: Any, y: Any, sizes: Any, normalization: int) -> Any:
    count = math.prod(sizes)
    if normalization == 0 or count == 0:
        return y
    return y / y.real.dtype.type(math.sqrt(count) if normalization == 1 else count)


def _complex_dtype(self: Any) -> Any:
    return self.dtype.to_complex()


def _sorted_dims(self: Any, dim: Any, but_last: bool) -> list[int]:
    """The transformed dims, largest strides first; the last one stays last where it is halved."""
    dims, strides = list(_axes(dim, self.dim())), self.stride()
    end = len(dims) - 1 if but_last else len(dims)
    return sorted(dims[:end], key=lambda d: -strides[d]) + dims[end:]


def _order(self: Any, dims: list[int]) -> tuple[Any, ...]:
    """Where PyTorch's CPU transforms leave their results: the other dims first, then the transformed ones."""
    if self.device.type == "cuda":
        return (None,)
    strides = self.stride()
    return ((*sorted((d for d in range(self.dim()) if d not in dims), key=lambda d: -strides[d]), *dims),)


def _complex_order(self: Any, dim: Any) -> tuple[Any, ...]:
    return _order(self, _sorted_dims(self, dim, False)) if dim else (None,)


def _from_real_order(self: Any, dim: Any) -> tuple[Any, ...]:
    return _order(self, _sorted_dims(self, dim, True))


def _to_real_order(self: Any, dim: Any) -> tuple[Any, ...]:
    last = wrap_dim(dim[-1], self.dim())
    if len(dim) == 1:
        return _order(self, [last])
    (before,) = _complex_order(self, dim[:-1])
    return (None,) if before is None else ((*(d for d in before if d != last), last),)


def _transformed(self: Any, from_complex: bool) -> Any:
    """The dtype of what is transformed; RuntimeError for one that the kernel does not take."""
    if not (self.dtype.is_complex if from_complex else self.dtype.is_floating_point):
        wanted = "complex" if from_complex else "floating-point"
        raise RuntimeError(f"Only supports {wanted} dtypes, but found: {_core.scalar_name(self.dtype)}")
    return self.dtype


def _axes(dim: Any, ndim: int) -> tuple[int, ...]:
    return tuple(wrap_dim(d, ndim) for d in dim)


@op("_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", shape=lambda self, dim: _same_shape(self, dim),
    dtype=lambda self: _transformed(self, True),
    grad={"self": lambda g, dim, normalization, forward: aten._fft_c2c(g, dim, normalization, not forward)},
    order=_complex_order, native="fft_c2c", **_HIDDEN)  # fmt: skip
def _fft_c2c(xp, self, dim, normalization, forward):
    axes = _axes(dim, self.ndim)
    if not axes or not self.size:
        return self.copy()
    # Inverse transforms come unscaled with norm="forward".
    y = xp.fft.fftn(self, axes=axes) if forward else xp.fft.ifftn(self, axes=axes, norm="forward")
    return _scaled(xp, y.astype(self.dtype), [self.shape[a] for a in axes], normalization)


def _check_half(self: Any, dim: Any, last: int | None = None) -> None:
    """RuntimeError for signals of half precision whose sizes are no powers of two, which cuFFT refuses."""
    if self.dtype not in (_core.float16, _core.complex32) or not self.is_cuda or not self.numel():
        return
    sizes = [self.shape[d] for d in _axes(dim, self.dim())]
    sizes[-1:] = sizes[-1:] if last is None else [last]
    if any(n & (n - 1) for n in sizes):
        raise RuntimeError(
            "cuFFT only supports dimensions whose sizes are powers of two when computing in half precision, but got a signal size of"
            + str(sizes)
        )


def _same_shape(self: Any, dim: Any) -> tuple[int, ...]:
    _check_half(self, dim)
    return tuple(self.shape)


def _half_shape(self: Any, dim: Any, onesided: bool) -> tuple[int, ...]:
    _check_half(self, dim)
    shape = list(self.shape)
    if onesided:
        last = wrap_dim(dim[-1], len(shape))
        shape[last] = shape[last] // 2 + 1
    return tuple(shape)


def _half_as_whole(g: Any, last: int, size: int) -> Any:
    """The half spectrum whose real transform is the real part of that of g followed by zeros: it stands for two, but for its
    first value and (even sizes) its last, which are real."""
    count = g.size(last)
    factor = torch.full((count, 2), 0.5, dtype=g.dtype.to_real(), device=g.device)
    ends = factor[:: count if size % 2 else count - 1]
    ends[:, 0] = 1
    ends[:, 1] = 0
    shape = [count if d == last else 1 for d in range(g.dim())]
    return aten.view_as_complex(aten.view_as_real(g.resolve_conj()) * factor.reshape([*shape, 2]))


def _from_real_grad(g: Any, self_shape: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    plain = g.is_meta or _core.unseen_on_cuda(g) or _core.unseen(g)
    if onesided and len(dim) == 1 and plain and not differentiated(g):
        last = wrap_dim(dim[0], len(self_shape))
        half = _half_as_whole(g, last, self_shape[last])
        return aten._fft_c2r(half, dim, normalization, self_shape[last])
    if onesided:
        last = wrap_dim(dim[-1], len(self_shape))
        missing = self_shape[last] - g.size(last)
        pads = [0, 0] * (g.dim() - 1 - last) + [0, missing]
        g = aten.constant_pad_nd(g, pads) if missing else g
    return aten._fft_c2c(g, dim, normalization, False).real


@op("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", shape=_half_shape,
    dtype=lambda self: (_transformed(self, False), _complex_dtype(self)), grad={"self": _from_real_grad},
    order=_from_real_order, native="fft_r2c", **_HIDDEN)  # fmt: skip
def _fft_r2c(xp, self, dim, normalization, onesided):
    axes = _axes(dim, self.ndim)
    y = (xp.fft.rfftn if onesided else xp.fft.fftn)(self, axes=axes)
    made = "complex64" if self.dtype.itemsize == 4 else "complex128"
    return _scaled(xp, y.astype(made), [self.shape[a] for a in axes], normalization)


def _full_shape(self: Any, dim: Any, last_dim_size: int) -> tuple[int, ...]:
    _check_half(self, dim, last_dim_size)
    shape = list(self.shape)
    shape[wrap_dim(dim[-1], len(shape))] = last_dim_size
    return tuple(shape)


def _to_real_grad(g: Any, dim: Any, normalization: int) -> Any:
    """The half spectrum stands for two, but for its first value and (even sizes) its last."""
    back = aten._fft_r2c(g, dim, normalization, True)
    last = wrap_dim(dim[-1], g.dim())
    twice = g.size(last) - back.size(last)
    if twice > 0:
        place = aten.arange(back.size(last), device=g.device)
        factor = ((place >= 1) & (place <= twice)).to(g.dtype) + 1
        back = back * factor.reshape([-1 if d == last else 1 for d in range(g.dim())])
    return back


@op("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", shape=_full_shape,
    dtype=lambda self: (_transformed(self, True), self.dtype.to_real()), grad={"self": _to_real_grad},
    order=_to_real_order, native="fft_c2r", **_HIDDEN)  # fmt: skip
def _fft_c2r(xp, self, dim, normalization, last_dim_size):
    axes = _axes(dim, self.ndim)
    y = xp.fft.ifftn(self, axes=axes[:-1], norm="forward") if len(axes) > 1 else self
    y = xp.fft.irfft(y, n=last_dim_size, axis=axes[-1], norm="forward")
    return _scaled(xp, y.astype(self.real.dtype), [y.shape[a] for a in axes], normalization)
