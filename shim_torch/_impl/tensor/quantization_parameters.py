"""The bounds of integers in a dtype, and the scale and zero point that fit given numbers into them."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.tensor.affine_quantization import _HALVES

_INTEGERS = (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32)
_FLOATS8 = (torch.float8_e4m3fn, torch.float8_e5m2)
BOUNDS: dict[Any, tuple[float, float]] = {
    **{d: (torch.iinfo(d).min, torch.iinfo(d).max) for d in _INTEGERS},
    **{d: (int(torch.finfo(d).min), int(torch.finfo(d).max)) for d in _FLOATS8},
}


def check_bounds(quant_min: Any, quant_max: Any, dtype: Any) -> None:
    """ValueError for a dtype that is no target of quantization; AssertionError for bounds that it cannot hold."""
    if dtype not in BOUNDS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    low, high = BOUNDS[dtype]
    if not quant_min >= low:
        raise AssertionError(f"quant_min out of bounds for dtype, quant_min_lower_bound: {low} quant_min: {quant_min}")
    if not quant_max <= high:
        raise AssertionError(f"quant_max out of bounds for dtype, quant_max_upper_bound: {high} quant_max: {quant_max}")


def _scale_of(low: Any, high: Any, qmin: int, qmax: int, symmetric: bool, eps: float) -> tuple[Any, Any]:
    """The scale and zero point that reach from ``low`` to ``high``, 0 included."""
    low, high = low.clamp(max=0.0), high.clamp(min=0.0)
    if symmetric:
        scale = (torch.maximum(-low, high) / ((qmax - qmin) / 2)).float().clamp(min=eps)
        return scale.double(), torch.zeros_like(scale, dtype=torch.int64)
    scale = ((high - low) / float(qmax - qmin)).float().clamp(min=eps)
    return scale.double(), (qmin - torch.round(low / scale).to(torch.int64)).clamp(qmin, qmax)


def choose_parameters(input: Any, qmin: int, qmax: int, eps: float, dtype: Any, symmetric: bool) -> tuple[Any, Any]:
    """(scale, float64; zero point, int64), each (1,), that take all numbers of ``input`` to ``qmin``..``qmax``.

    ``symmetric``: the zero point is 0. Scales are ``eps`` at least. Errors: AssertionError for other dtypes or bounds.
    """
    if input.dtype not in (torch.float32, *_HALVES):
        raise AssertionError(f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}")
    if dtype not in BOUNDS:
        raise AssertionError(f"Expecting target dtype to be one of {list(BOUNDS)}, but got: {dtype}")
    if not qmin <= 0 <= qmax:
        raise AssertionError("Used-specified quantization range must include 0.")
    if not qmin < qmax:
        raise AssertionError("qmin must be less than qmax for user-specified quantization range.")
    low, high = torch.aminmax(input)
    scale, zero = _scale_of(low, high, qmin, qmax, symmetric, eps)
    return scale.reshape(1), zero.reshape(1)
