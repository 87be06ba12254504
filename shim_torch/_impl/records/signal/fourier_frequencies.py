"""Frequencies of a discrete Fourier transform, and shifts that put frequency 0 into the middle."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.fourier import FFT
from shim_torch._impl.table.calls import aten
from shim_torch._impl.table.record import composite
from shim_torch._impl.table.rules import wrap_dim

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
    **FFT,
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
    **FFT,
    cast_error="rfftfreq expects a complex output tensor, but got {O}",
    out_order="contiguous",
    out_resize="rounded",
)
def fft_rfftfreq(n, d, dtype, layout, device, pin_memory):
    """The frequencies of the values of ``rfft`` of n points at distances of ``d``: 0 to n // 2, over n d.

    In the default float dtype unless ``dtype`` is given.
    """
    return _frequencies("rfftfreq", n, d, dtype, device, 0, n // 2 + 1)


def _shifted(x: Any, dim: Any, back: bool) -> Any:
    dims = list(range(x.dim())) if dim is None else [wrap_dim(d, x.dim()) for d in dim]
    if not dims:
        return x.clone()
    return x.roll([(x.size(d) + 1) // 2 if back else x.size(d) // 2 for d in dims], dims)


composite("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", **FFT)(lambda self, dim: _shifted(self, dim, False))
composite("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", **FFT)(lambda self, dim: _shifted(self, dim, True))
