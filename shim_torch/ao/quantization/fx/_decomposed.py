"""``torch.ops.quantized_decomposed``: numbers turned to integers with a scale and a zero point, kept in plain tensors.

q = clamp(round(x / scale) + zero_point, quant_min, quant_max) and x = (q - zero_point) * scale, with one scale for a tensor,
for each index of an axis (channel), for each row (token) or for each group of ``group_size`` numbers of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import shim_torch as torch
from shim_torch._impl.tensor.affine_quantization import (
    _HALVES,
    _per_token_quant_qparam_dim_check,
    along,
    channels,
    grouped,
    one_element,
    to_integers,
    to_numbers,
    wide,
)
from shim_torch.autograd import Function
from shim_torch.library import Library

_INTEGERS = (torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32)
_FLOATS8 = (torch.float8_e4m3fn, torch.float8_e5m2)
_BOUNDS: dict[Any, tuple[float, float]] = {
    **{d: (torch.iinfo(d).min, torch.iinfo(d).max) for d in _INTEGERS},
    **{d: (int(torch.finfo(d).min), int(torch.finfo(d).max)) for d in _FLOATS8},
}
quantized_decomposed_lib = Library("quantized_decomposed", "DEF")


def _operator(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        quantized_decomposed_lib.define(schema)
        quantized_decomposed_lib.impl(schema.partition("(")[0], body, "CompositeExplicitAutograd")
        return body

    return decorate


def _check_bounds(quant_min: Any, quant_max: Any, dtype: Any) -> None:
    if dtype not in _BOUNDS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    low, high = _BOUNDS[dtype]
    if not quant_min >= low:
        raise AssertionError(f"quant_min out of bounds for dtype, quant_min_lower_bound: {low} quant_min: {quant_min}")
    if not quant_max <= high:
        raise AssertionError(f"quant_max out of bounds for dtype, quant_max_upper_bound: {high} quant_max: {quant_max}")


# --- one scale for a tensor -----------------------------------------------------------------------------------------


@_operator(
    "quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor(input: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Any) -> Any:
    input = wide(input)
    _check_bounds(quant_min, quant_max, dtype)
    return to_integers(input, scale, zero_point, quant_min, quant_max).to(dtype)


@_operator(
    "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor(
    input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any
) -> Any:
    return quantize_per_tensor(
        input, one_element("scale", scale), one_element("zero_point", zero_point), quant_min, quant_max, dtype
    )


@_operator(
    "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor2(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any
) -> Any:
    return quantize_per_tensor_tensor(input, scale, zero_point, quant_min.item(), quant_max.item(), dtype)


@_operator(
    "dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor(
    input: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {input.dtype}")
    if dtype not in _BOUNDS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(torch.float32 if out_dtype is None else out_dtype) - zero_point) * scale


@_operator(
    "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor_tensor(
    input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    numbers = one_element("scale", scale), one_element("zero_point", zero_point)
    return dequantize_per_tensor(input, *numbers, quant_min, quant_max, dtype, out_dtype=out_dtype)


@_operator(
    "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor_tensor2(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any, *, out_dtype: Any = None
) -> Any:
    bounds = quant_min.item(), quant_max.item()
    return dequantize_per_tensor_tensor(input, scale, zero_point, *bounds, dtype, out_dtype=out_dtype)


def _scale_of(low: Any, high: Any, qmin: int, qmax: int, symmetric: bool, eps: float) -> tuple[Any, Any]:
    """The scale and zero point that reach from ``low`` to ``high``, 0 included."""
    low, high = low.clamp(max=0.0), high.clamp(min=0.0)
    if symmetric:
        scale = (torch.maximum(-low, high) / ((qmax - qmin) / 2)).float().clamp(min=eps)
        return scale.double(), torch.zeros_like(scale, dtype=torch.int64)
    scale = ((high - low) / float(qmax - qmin)).float().clamp(min=eps)
    return scale.double(), (qmin - torch.round(low / scale).to(torch.int64)).clamp(qmin, qmax)


def _choose(input: Any, qmin: int, qmax: int, eps: float, dtype: Any, symmetric: bool) -> tuple[Any, Any]:
    if input.dtype not in (torch.float32, *_HALVES):
        raise AssertionError(f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}")
    if dtype not in _BOUNDS:
        raise AssertionError(f"Expecting target dtype to be one of {list(_BOUNDS)}, but got: {dtype}")
    if not qmin <= 0 <= qmax:
        raise AssertionError("Used-specified quantization range must include 0.")
    if not qmin < qmax:
        raise AssertionError("qmin must be less than qmax for user-specified quantization range.")
    low, high = torch.aminmax(input)
    scale, zero = _scale_of(low, high, qmin, qmax, symmetric, eps)
    return scale.reshape(1), zero.reshape(1)


@_operator(
    "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_tensor(input: Any, qmin: int, qmax: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    return _choose(input, qmin, qmax, eps, dtype, False)


@_operator(
    "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_symmetric_tensor(input: Any, qmin: int, qmax: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    return _choose(input, qmin, qmax, eps, dtype, True)


# --- a scale for each index of an axis --------------------------------------------------------------------------------


@_operator(
    "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: Any
) -> Any:
    numbers = wide(input)
    scale, zero = channels(input, axis, scales, zero_points)
    _check_bounds(quant_min, quant_max, dtype)
    return to_integers(numbers, scale, zero, quant_min, quant_max).to(dtype)


@_operator(
    "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_channel(
    input: Any,
    scales: Any,
    zero_points: Any,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Any:
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got dtype: {input.dtype}")
    scale, zero = channels(input, axis, scales, zero_points)
    _check_bounds(quant_min, quant_max, dtype)
    return to_numbers(input, scale, zero).to(torch.float32 if out_dtype is None else out_dtype)


class FakeQuantPerChannel(Function):
    """Numbers rounded as quantization rounds them; gradients pass where nothing was clamped."""

    @staticmethod
    def forward(ctx: Any, input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
        scale, zero = along(scales, axis, input.dim()), along(zero_points, axis, input.dim())
        q = torch.round(input * (1.0 / scale)) + zero
        ctx.save_for_backward((q >= quant_min) & (q <= quant_max))
        return (q.clamp(quant_min, quant_max) - zero) * scale

    @staticmethod
    def backward(ctx: Any, gy: Any) -> Any:
        return gy * ctx.saved_tensors[0], None, None, None, None, None


@_operator(
    "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max) -> Tensor"
)
def fake_quant_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    return FakeQuantPerChannel.apply(input, scales, zero_points, axis, quant_min, quant_max)


# --- a scale for each row ---------------------------------------------------------------------------------------------


def _row_limits(input: Any) -> tuple[Any, Any]:
    """The least and the largest number of each row, 0 included."""
    least, largest = torch.aminmax(input, dim=-1, keepdim=True)
    return least.clamp(max=0), largest.clamp(min=0)


@_operator("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(input: Any, dtype: Any) -> tuple[Any, Any]:
    if dtype != torch.int8:
        raise Exception(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    least, largest = _row_limits(input.float() if input.dtype == torch.float16 else input)
    scale = torch.maximum(-least, largest).clamp(min=1e-5) / 127
    return scale, torch.zeros_like(scale)


@_operator("_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def _choose_qparams_per_token_asymmetric_impl(input: Any, dtype: Any) -> tuple[Any, Any]:
    limits = torch.stack(_row_limits(input))
    ends = limits.new_tensor([-128, 127]).reshape(2, *[1] * input.dim())
    scale = (limits[1] - limits[0]).div(255.0).clamp(min=torch.finfo(torch.float32).eps)
    reached = limits / scale
    # Each end has a zero point that would put it exactly there: the one of the end with the smaller error is taken.
    zero = torch.where((ends + reached).sum(0) > 0, *(ends - reached))
    return scale.double(), zero.clamp(-128, 127).round().long()


@_operator("choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token_asymmetric(input: Any, dtype: Any) -> tuple[Any, Any]:
    return _choose_qparams_per_token_asymmetric_impl(input, dtype)


@_operator(
    "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_token(input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:
    _check_bounds(quant_min, quant_max, dtype)
    _per_token_quant_qparam_dim_check(input, scales, zero_points)
    return to_integers(input, scales, zero_points, quant_min, quant_max, round_last=True).to(dtype)


@_operator(
    "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_token(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any,
    output_dtype: Any = torch.float32,
) -> Any:  # fmt: skip
    return (input - zero_points).to(output_dtype) * scales.to(output_dtype)


# --- a scale for each group of a row ----------------------------------------------------------------------------------


@_operator(
    "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor"
)
def quantize_per_channel_group(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any, group_size: int = 128
) -> Any:
    q = to_integers(*grouped(input, group_size, scales, zero_points), quant_min, quant_max, round_last=True)
    return q.to(dtype).reshape(input.shape)


@_operator(
    "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_channel_group(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any, group_size: int = 128,
    output_dtype: Any = torch.float32,
) -> Any:  # fmt: skip
    return to_numbers(*grouped(input, group_size, scales, zero_points)).reshape(input.shape).to(output_dtype)


@_operator("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: Any, dtype: Any) -> Any:
    return torch.ops.prims.convert_element_type.default(input, dtype)
