"""``torch.ops.quantized_decomposed``: numbers turned to integers with a scale and a zero point, kept in plain tensors.

q = clamp(round(x / scale) + zero_point, quant_min, quant_max) and x = (q - zero_point) * scale, with one scale for a tensor,
for each index of an axis (channel), for each row (token) or for each group of ``group_size`` numbers of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import shim_torch as torch
from shim_torch._impl.tensor.affine_quantization import (
    _per_token_quant_qparam_dim_check,
    along,
    channels,
    grouped,
    one_element,
    to_integers,
    to_numbers,
    wide,
)
from shim_torch._impl.tensor.quantization_parameters import BOUNDS, check_bounds, choose_parameters
from shim_torch.autograd import Function
from shim_torch.library import Library

quantized_decomposed_lib = Library("quantized_decomposed", "DEF")


def _operator(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        quantized_decomposed_lib.define(schema)
        quantized_decomposed_lib.impl(schema.partition("(")[0], body, "CompositeExplicitAutograd")
        return body

    return decorate


# --- one scale for a tensor -----------------------------------------------------------------------------------------


@_operator(
    "quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor(input: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Any) -> Any:
    """q of ``input`` (float32, or half precision as float32), in ``dtype``.

    Errors: ValueError for a dtype that is no target, AssertionError for bounds outside of it and other inputs.
    """
    input = wide(input)
    check_bounds(quant_min, quant_max, dtype)
    return to_integers(input, scale, zero_point, quant_min, quant_max).to(dtype)


@_operator(
    "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor(
    input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any
) -> Any:
    """As ``quantize_per_tensor``, with scale and zero point in tensors of one element."""
    return quantize_per_tensor(
        input, one_element("scale", scale), one_element("zero_point", zero_point), quant_min, quant_max, dtype
    )


@_operator(
    "quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_tensor_tensor2(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any
) -> Any:
    """As ``quantize_per_tensor``, with all numbers in tensors of one element."""
    return quantize_per_tensor_tensor(input, scale, zero_point, quant_min.item(), quant_max.item(), dtype)


@_operator(
    "dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor(
    input: Any, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """x of q, in ``out_dtype`` (float32).

    Errors: AssertionError unless ``input`` has ``dtype``, ValueError for a dtype that is no target.
    """
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {input.dtype}")
    if dtype not in BOUNDS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(torch.float32 if out_dtype is None else out_dtype) - zero_point) * scale


@_operator(
    "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor_tensor(
    input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """As ``dequantize_per_tensor``, with scale and zero point in tensors of one element."""
    numbers = one_element("scale", scale), one_element("zero_point", zero_point)
    return dequantize_per_tensor(input, *numbers, quant_min, quant_max, dtype, out_dtype=out_dtype)


@_operator(
    "dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor"
)
def dequantize_per_tensor_tensor2(
    input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any, *, out_dtype: Any = None
) -> Any:
    """As ``dequantize_per_tensor``, with all numbers in tensors of one element."""
    bounds = quant_min.item(), quant_max.item()
    return dequantize_per_tensor_tensor(input, scale, zero_point, *bounds, dtype, out_dtype=out_dtype)


@_operator(
    "choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_tensor(input: Any, qmin: int, qmax: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """(scale, zero point), float64 and int64 (1,), that reach from the least number (or 0) to the largest (or 0)."""
    return choose_parameters(input, qmin, qmax, eps, dtype, False)


@_operator(
    "choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)"
)
def choose_qparams_symmetric_tensor(input: Any, qmin: int, qmax: int, eps: float, dtype: Any) -> tuple[Any, Any]:
    """(scale, zero point), float64 and int64 (1,), for a zero point of 0."""
    return choose_parameters(input, qmin, qmax, eps, dtype, True)


# --- a scale for each index of an axis --------------------------------------------------------------------------------


@_operator(
    "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int, dtype: Any
) -> Any:
    """q of ``input`` in ``dtype``, with a scale and a zero point (n,) for each index of ``axis``."""
    numbers = wide(input)
    scale, zero = channels(input, axis, scales, zero_points)
    check_bounds(quant_min, quant_max, dtype)
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
    """x of q, in ``out_dtype`` (float32), with a scale (n,) for each index of ``axis``; None as zero points: 0."""
    if input.dtype != dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got dtype: {input.dtype}")
    scale, zero = channels(input, axis, scales, zero_points)
    check_bounds(quant_min, quant_max, dtype)
    return to_numbers(input, scale, zero).to(torch.float32 if out_dtype is None else out_dtype)


class FakeQuantPerChannel(Function):
    """Numbers rounded as quantization rounds them; gradients pass where nothing was clamped."""

    @staticmethod
    def forward(ctx: Any, input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
        """x of the q of ``input``, with a scale and a zero point (n,) for each index of ``axis``."""
        scale, zero = along(scales, axis, input.dim()), along(zero_points, axis, input.dim())
        q = torch.round(input * (1.0 / scale)) + zero
        ctx.save_for_backward((q >= quant_min) & (q <= quant_max))
        return (q.clamp(quant_min, quant_max) - zero) * scale

    @staticmethod
    def backward(ctx: Any, gy: Any) -> Any:
        """The gradient where q was within the bounds, elsewhere 0."""
        return gy * ctx.saved_tensors[0], None, None, None, None, None


@_operator(
    "fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max) -> Tensor"
)
def fake_quant_per_channel(input: Any, scales: Any, zero_points: Any, axis: int, quant_min: int, quant_max: int) -> Any:
    """x of the q of ``input``, differentiable: the gradient is 1 where q was within the bounds, elsewhere 0."""
    return FakeQuantPerChannel.apply(input, scales, zero_points, axis, quant_min, quant_max)


# --- a scale for each row ---------------------------------------------------------------------------------------------


def _row_limits(input: Any) -> tuple[Any, Any]:
    """The least and the largest number of each row, 0 included."""
    least, largest = torch.aminmax(input, dim=-1, keepdim=True)
    return least.clamp(max=0), largest.clamp(min=0)


@_operator("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)")
def choose_qparams_per_token(input: Any, dtype: Any) -> tuple[Any, Any]:
    """(scales, zeros), each (*, 1), that take every row to -127..127; the dtype must be int8."""
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
    """(scales, zero points), float64 and int64 (*, 1), that take every row to -128..127."""
    return _choose_qparams_per_token_asymmetric_impl(input, dtype)


@_operator(
    "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype) -> Tensor"
)
def quantize_per_token(input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any) -> Any:
    """q of ``input`` in ``dtype``, with a scale and a zero point for each row."""
    check_bounds(quant_min, quant_max, dtype)
    _per_token_quant_qparam_dim_check(input, scales, zero_points)
    return to_integers(input, scales, zero_points, quant_min, quant_max, round_last=True).to(dtype)


@_operator(
    "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_token(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any,
    output_dtype: Any = torch.float32,
) -> Any:  # fmt: skip
    """x of q, in ``output_dtype``, with a scale and a zero point for each row."""
    return (input - zero_points).to(output_dtype) * scales.to(output_dtype)


# --- a scale for each group of a row ----------------------------------------------------------------------------------


@_operator(
    "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor"
)
def quantize_per_channel_group(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any, group_size: int = 128
) -> Any:
    """q of rows in ``dtype``, with a scale and a zero point for each ``group_size`` numbers."""
    q = to_integers(*grouped(input, group_size, scales, zero_points), quant_min, quant_max, round_last=True)
    return q.to(dtype).reshape(input.shape)


@_operator(
    "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor"
)
def dequantize_per_channel_group(
    input: Any, scales: Any, zero_points: Any, quant_min: int, quant_max: int, dtype: Any, group_size: int = 128,
    output_dtype: Any = torch.float32,
) -> Any:  # fmt: skip
    """x of q, in ``output_dtype``, with a scale for each ``group_size`` numbers; None as zero points: 0."""
    return to_numbers(*grouped(input, group_size, scales, zero_points)).reshape(input.shape).to(output_dtype)


@_operator("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor")
def convert_element_type(input: Any, dtype: Any) -> Any:
    """``input`` in another dtype."""
    return torch.ops.prims.convert_element_type.default(input, dtype)
