"""The functions of torch.fft along one dim, over the kernels of Fourier transforms."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.fourier import (
    TRANSFORM,
    no_complex,
    normalization,
    one_dim,
    positive,
    promoted,
    resized,
)
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite


def _c2c(x: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    d = one_dim(x, dim)
    size = positive(x.size(d) if n is None else n)
    x = resized(x, [d], [size])
    mode = normalization(norm, forward)
    if x.is_complex():
        return aten._fft_c2c(x, [d], mode, forward)
    if forward:
        return aten._fft_r2c(x, [d], mode, False)
    return aten._fft_r2c(x, [d], mode, False).conj()


@composite(
    "fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **TRANSFORM,
    batching="along_dim",
    cast_error="fft expects a complex output tensor, but got {O}",
    out_order="contiguous",
)
def fft_fft(self, n, dim, norm):
    """The discrete Fourier transform along a dim, of as many values as there are points.

    ``n``: how many points; the dim is cut to them, or padded with zeros. ``norm``: "forward" divides by n, "ortho" by
    √n, "backward" (the default) leaves the division to the inverse.
    The result is complex; integers are taken in the default float dtype. RuntimeError below one point, for bfloat16,
    and on the CPU for half precision.
    """
    return _c2c(promoted(self), n, dim, norm, True)


@composite(
    "fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **TRANSFORM,
    batching="along_dim",
    cast_error="ifft expects a complex output tensor, but got {O}",
    out_order="contiguous",
)
def fft_ifft(self, n, dim, norm):
    """The inverse of ``fft``: ``n`` and ``norm`` as there, and with the default norm the division by n."""
    return _c2c(promoted(self), n, dim, norm, False)


def _real_to_half(name: str, x: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    no_complex(name, x)
    x = promoted(x)
    d = one_dim(x, dim)
    x = resized(x, [d], [positive(x.size(d) if n is None else n)])
    y = aten._fft_r2c(x, [d], normalization(norm, forward), True)
    return y if forward else y.conj()


def _half_to_real(x: Any, n: int | None, dim: int, norm: str | None, forward: bool) -> Any:
    x = promoted(x, True)
    d = one_dim(x, dim)
    size = positive(2 * (x.size(d) - 1) if n is None else n)
    x = resized(x, [d], [size // 2 + 1])
    x = x.conj().resolve_conj() if forward else x
    return aten._fft_c2r(x, [d], normalization(norm, forward), size)


@composite(
    "fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **TRANSFORM,
    batching="along_dim",
    cast_error="rfft expects a complex output tensor, but got {O}",
    out_order="contiguous",
)
def fft_rfft(self, n, dim, norm):
    """The first n // 2 + 1 values of ``fft`` of a tensor, which must be real; the others follow from them."""
    return _real_to_half("rfft", self, n, dim, norm, True)


@composite(
    "fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **TRANSFORM,
    cast_error="ihfft expects a complex output tensor, but got {O}",
    out_order="contiguous",
)
def fft_ihfft(self, n, dim, norm):
    """The inverse of ``hfft``: the first n // 2 + 1 values of ``ifft`` of a tensor, which must be real."""
    return _real_to_half("ihfft", self, n, dim, norm, False)


@composite(
    "fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **TRANSFORM,
    batching="along_dim",
    cast_error="irfft expects a floating point output tensor, but got {O}",
    out_error_name="_fft_c2r",
    out_order="contiguous",
)
def fft_irfft(self, n, dim, norm):
    """The inverse of ``rfft``: n real points from the first n // 2 + 1 values of their transform.

    ``n``: 2 (m - 1) of m values by default, which an odd number of points has to be told.
    """
    return _half_to_real(self, n, dim, norm, False)


@composite(
    "fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
    out=True,
    **TRANSFORM,
    cast_error="hfft expects a floating point output tensor, but got {O}",
    out_error_name="_fft_c2r",
    out_order="contiguous",
)
def fft_hfft(self, n, dim, norm):
    """The transform of a signal with Hermitian symmetry, of which the first n // 2 + 1 values are given: n real values.

    ``n``: 2 (m - 1) of m values by default; ``norm`` as of ``fft``.
    """
    return _half_to_real(self, n, dim, norm, True)
