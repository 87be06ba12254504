"""The functions of torch.fft, over the kernels of Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import wrap_dim

_HIDDEN: dict[str, Any] = {"function": False, "method": False, "out": True}
_FFT: dict[str, Any] = {"module": "fft", "method": False}


# --- the functions --------------------------------------------------------------------------------------------------


def _normalization(norm: str | None, forward: bool) -> int:
    """How PyTorch's kernels number it: 0 none, 1 by √n, 2 by n."""
    if norm in (None, "backward"):
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    if norm == "ortho":
        return 1
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _promoted(self: Any, complex_wanted: bool = False) -> Any:
    dtype = self.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = _core.get_default_dtype()
    halves = (_core.float16, _core.complex32) if self.is_cuda or self.is_meta else ()  # as cuFFT has them
    if dtype not in (_core.float32, _core.float64, _core.complex64, _core.complex128, *halves):
        if dtype is _core.complex32:
            raise RuntimeError("MKL FFT doesn't support tensors of type: Half")
        raise RuntimeError(f"Unsupported dtype {_core.scalar_name(dtype)}")
    return self.to(dtype.to_complex() if complex_wanted else dtype)


def _resized(x: Any, dims: Any, sizes: Any) -> Any:
    """The dims cut or padded with zeros at their ends to ``sizes`` (-1: as they are)."""
    for d, n in zip(dims, sizes, strict=True):
        if n == -1:
            continue
        if n < x.size(d):
            x = x.narrow(d, 0, n)
        elif n > x.size(d):
            x = aten.constant_pad_nd(x, [0, 0] * (x.dim() - 1 - d) + [0, n - x.size(d)])
    return x


def _one_dim(x: Any, dim: int) -> int:
    if x.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, x.dim())


def _positive(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _c2c(x: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    d = _one_dim(x, dim)
    size = _positive(x.size(d) if n is None else n)
    x = _resized(x, [d], [size])
    mode = _normalization(norm, forward)
    if x.is_complex():
        return aten._fft_c2c(x, [d], mode, forward)
    if forward:
        return aten._fft_r2c(x, [d], mode, False)
    return aten._fft_r2c(x, [d], mode, False).conj()


def _no_complex(name: str, x: Any, kind: str = "real") -> None:
    if x.is_complex():
        raise RuntimeError(f"{name} expects a {kind} input tensor, but got {_core.scalar_name(x.dtype)}")


@composite(
    "fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **_FFT,
    batching="along_dim",
    cast_error="fft expects a complex output tensor, but got {O}",
    out_order="contiguous",
)
def fft_fft(self, n, dim, norm):
    return _c2c(_promoted(self), n, dim, norm, True)


@composite(
    "fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **_FFT,
    batching="along_dim",
    cast_error="ifft expects a complex output tensor, but got {O}",
    out_order="contiguous",
)
def fft_ifft(self, n, dim, norm):
    return _c2c(_promoted(self), n, dim, norm, False)


def _real_to_half(name: str, x: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    _no_complex(name, x)
    x = _promoted(x)
    d = _one_dim(x, dim)
    x = _resized(x, [d], [_positive(x.size(d) if n is None else n)])
    y = aten._fft_r2c(x, [d], _normalization(norm, forward), True)
    return y if forward else y.conj()


def _half_to_real(x: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    x = _promoted(x, True)
    d = _one_dim(x, dim)
    size = _positive(2 * (x.size(d) - 1) if n is None else n)
    x = _resized(x, [d], [size // 2 + 1])
    x = x.conj().resolve_conj() if forward else x
    return aten._fft_c2r(x, [d], _normalization(norm, forward), size)


@composite(
    "fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **_FFT,
    batching="along_dim",
    cast_error="rfft expects a complex output tensor, but got {O}",
    out_order="contiguous",
)
def fft_rfft(self, n, dim, norm):
    return _real_to_half("rfft", self, n, dim, norm, True)


@composite(
    "fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **_FFT,
    cast_error="ihfft expects a complex output tensor, but got {O}",
    out_order="contiguous",
)
def fft_ihfft(self, n, dim, norm):
    return _real_to_half("ihfft", self, n, dim, norm, False)


@composite(
    "fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **_FFT,
    batching="along_dim",
    cast_error="irfft expects a floating point output tensor, but got {O}",
    out_error_name="_fft_c2r",
    out_order="contiguous",
)
def fft_irfft(self, n, dim, norm):
    return _half_to_real(self, n, dim, norm, False)


@composite(
    "fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **_FFT,
    cast_error="hfft expects a floating point output tensor, but got {O}",
    out_error_name="_fft_c2r",
    out_order="contiguous",
)
def fft_hfft(self, n, dim, norm):
    return _half_to_real(self, n, dim, norm, True)


def _dims(x: Any, s: Any, dim: Any) -> list[int]:
    if dim is None:
        if s is not None and len(s) > x.dim():
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.dim()} dimensions.")
        return list(range(0 if s is None else x.dim() - len(s), x.dim()))
    dims = [_one_dim(x, d) for d in dim]
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    if s is not None and len(s) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return dims


def _dims_and_sizes(x: Any, s: Any, dim: Any) -> tuple[list[int], list[int]]:
    dims = _dims(x, s, dim)
    sizes = [x.size(d) if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    return dims, [_positive(n) for n in sizes]


def _c2cn(x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    x = _promoted(x, True)
    dims, sizes = _dims_and_sizes(x, s, dim)
    return aten._fft_c2c(_resized(x, dims, sizes), dims, _normalization(norm, forward), forward)


def _rfftn(name: str, x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    _no_complex(name, x, "real-valued")
    x = _promoted(x)
    dims, sizes = _dims_and_sizes(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    x = _resized(x, dims, sizes)
    if forward:
        return aten._fft_r2c(x, dims, _normalization(norm, True), True)
    mode = _normalization(norm, False)
    half = aten._fft_r2c(x, dims[-1:], mode, True).conj()
    return aten._fft_c2c(half.resolve_conj(), dims[:-1], mode, False) if len(dims) > 1 else half


def _irfftn(name: str, x: Any, s: Any, dim: Any, norm: str | None, forward: bool) -> Any:
    x = _promoted(x, True)
    dims = _dims(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    last = 2 * (x.size(dims[-1]) - 1) if s is None or s[-1] == -1 else s[-1]
    sizes = [x.size(d) if s is None or s[i] == -1 else s[i] for i, d in enumerate(dims)]
    sizes[-1] = _positive(last)
    for n in sizes:
        _positive(n)
    x = _resized(x, dims, [*sizes[:-1], last // 2 + 1])
    mode = _normalization(norm, forward)
    if not forward:
        return aten._fft_c2r(x, dims, mode, last)
    rest = aten._fft_c2c(x, dims[:-1], mode, True) if len(dims) > 1 else x
    return aten._fft_c2r(rest.conj().resolve_conj(), dims[-1:], mode, last)


def _declare(name: str, run: Any, **traits: Any) -> None:
    """The two-dimensional and the n-dimensional function."""
    options = {"out": True, "out_order": "contiguous", **_FFT, **traits}
    composite(f"fft_{name}2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", **options)(
        run
    )
    composite(f"fft_{name}n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", **options)(
        run
    )


def _complex_out(name: str) -> dict[str, str]:
    return {"cast_error": f"{name} expects a complex output tensor, but got {{O}}"}


def _real_out(name: str) -> dict[str, str]:
    return {
        "cast_error": f"{name} expects a floating point output tensor, but got {{O}}",
        "out_error_name": "_fft_c2r",
    }


_declare("fft", lambda self, s, dim, norm: _c2cn(self, s, dim, norm, True), **_complex_out("fftn"))
_declare("ifft", lambda self, s, dim, norm: _c2cn(self, s, dim, norm, False), **_complex_out("fftn"))
_declare("rfft", lambda self, s, dim, norm: _rfftn("rfftn", self, s, dim, norm, True), **_complex_out("rfftn"))
_declare("ihfft", lambda self, s, dim, norm: _rfftn("ihfftn", self, s, dim, norm, False), **_complex_out("ihfftn"))
_declare("irfft", lambda self, s, dim, norm: _irfftn("irfftn", self, s, dim, norm, False), **_real_out("irfftn"))
_declare("hfft", lambda self, s, dim, norm: _irfftn("hfftn", self, s, dim, norm, True), **_real_out("hfftn"))


# --- frequencies and shifts -----------------------------------------------------------------------------------------

_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _frequencies(name: str, n: int, d: float, dtype: Any, device: Any, first: int, last: int) -> Any:
    dtype = _core.get_default_dtype() if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    width = n * d
    return aten.arange(first, last, dtype=dtype, device=device) * (1.0 / width if width else math.inf)


@composite(
    f"fft_fftfreq(int n, float d=1.0, *, {_FACTORY}) -> Tensor",
    out=True,
    **_FFT,
    cast_error="fftfreq expects a complex output tensor, but got {O}",
    out_order="contiguous",
    out_resize="rounded",
)
def fft_fftfreq(n, d, dtype, layout, device, pin_memory):
    """Frequencies of fft's values: 0 up, then the negative ones."""
    half = (n + 1) // 2
    parts = [(0, half), (half - n, 0)]
    made = [_frequencies("fftfreq", n, d, dtype, device, *part) for part in parts]
    return aten.cat(made)


@composite(
    f"fft_rfftfreq(int n, float d=1.0, *, {_FACTORY}) -> Tensor",
    out=True,
    **_FFT,
    cast_error="rfftfreq expects a complex output tensor, but got {O}",
    out_order="contiguous",
    out_resize="rounded",
)
def fft_rfftfreq(n, d, dtype, layout, device, pin_memory):
    return _frequencies("rfftfreq", n, d, dtype, device, 0, n // 2 + 1)


def _shifted(x: Any, dim: Any, back: bool) -> Any:
    dims = list(range(x.dim())) if dim is None else [wrap_dim(d, x.dim()) for d in dim]
    if not dims:
        return x.clone()
    return x.roll([(x.size(d) + 1) // 2 if back else x.size(d) // 2 for d in dims], dims)


composite("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", **_FFT)(lambda self, dim: _shifted(self, dim, False))
composite("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", **_FFT)(lambda self, dim: _shifted(self, dim, True))
