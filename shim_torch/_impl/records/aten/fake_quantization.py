"""Fake quantization: values rounded to what a quantized tensor could hold; the gradient passes where they were in range."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.aten_declare import aten, package
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.rules import type_name

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


def _checked(quant_min: int, quant_max: int, zero_point: int | None = None) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    if zero_point is not None and not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")


def _rounded(x: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> tuple[Any, Any]:
    """The values, and whether each was in range before."""
    inverse = math.inf if isinstance(scale, float) and scale == 0 else 1.0 / scale
    steps = (x.to(_core.float32) * inverse).round() + zero_point
    inside = (steps >= quant_min) & (steps <= quant_max)
    return ((steps.clamp(quant_min, quant_max) - zero_point) * scale).to(x.dtype), inside


class _Passes:
    """The autograd function: made when first used, as its module comes in then."""

    function: Any = None

    @classmethod
    def apply(cls, x: Any, value: Any, inside: Any) -> Any:
        if cls.function is None:

            class FakeQuantize(package().autograd.Function):  # type: ignore[misc, name-defined]
                @staticmethod
                def forward(ctx: Any, x: Any, value: Any, inside: Any) -> Any:
                    ctx.save_for_backward(inside)
                    return value.clone()

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    return g * ctx.saved_tensors[0], None, None

            cls.function = FakeQuantize
        return cls.function.apply(x, value, inside)


@aten("fake_quantize_per_tensor_affine_cachemask")
def fake_quantize_per_tensor_affine_cachemask(x, scale, zero_point, quant_min, quant_max):
    """The values that ``torch.fake_quantize_per_tensor_affine`` gives, and whether each was in range."""
    _checked(quant_min, quant_max, zero_point)
    value, inside = _rounded(x.detach(), scale, zero_point, quant_min, quant_max)
    return _Passes.apply(x, value, inside), inside


@aten("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def _cachemask_tensor_qparams(x, scale, zero_point, enabled, quant_min, quant_max):
    _checked(quant_min, quant_max)
    if not bool(enabled.item()):
        return x.clone(), torch.ones_like(x, dtype=_core.bool)
    value, inside = _rounded(x.detach(), scale.detach(), zero_point.detach(), quant_min, quant_max)
    return _Passes.apply(x, value, inside), inside


def _along(value: Any, x: Any, axis: int) -> Any:
    return value.reshape([-1 if d == axis % x.dim() else 1 for d in range(x.dim())])


@aten("fake_quantize_per_channel_affine_cachemask")
def fake_quantize_per_channel_affine_cachemask(x, scale, zero_point, axis, quant_min, quant_max):
    """The values that ``torch.fake_quantize_per_channel_affine`` gives, and whether each was in range."""
    if scale.dim() != 1:
        raise RuntimeError("scale should be a 1-D tensor")
    if zero_point.dim() != 1:
        raise RuntimeError("zero point should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != x.shape[axis]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _checked(quant_min, quant_max)
    if zero_point.dtype not in (_core.int32, _core.float32, _core.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {type_name(zero_point.dtype)}")
    if not zero_point.is_meta and bool(((zero_point < quant_min) | (zero_point > quant_max)).any()):
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    value, inside = _rounded(x.detach(), _along(scale, x, axis), _along(zero_point, x, axis), quant_min, quant_max)
    return _Passes.apply(x, value, inside), inside


@aten("fake_quantize_per_tensor_affine.tensor_qparams", "fake_quantize_per_tensor_affine", public=True)
def fake_quantize_per_tensor_affine(x, scale, zero_point, quant_min, quant_max):
    """Values of x rounded to multiples of ``scale`` and kept in range; scale and zero_point are numbers or tensors of one."""
    if isinstance(scale, _core.Tensor):
        return _cachemask_tensor_qparams(x, scale, zero_point, torch.ones(1), quant_min, quant_max)[0]
    return fake_quantize_per_tensor_affine_cachemask(x, scale, zero_point, quant_min, quant_max)[0]


@aten("fake_quantize_per_channel_affine", public=True)
def fake_quantize_per_channel_affine(x, scale, zero_point, axis, quant_min, quant_max):
    """Values rounded to multiples of their channel's scale and kept in range; the gradient passes where they were.

    Shapes:  any input; scale and zero_point (n,), n the input's size along ``axis``
    Dtypes:  zero_point int32, float32 or float16
    Errors:  RuntimeError for others, and for a zero_point that is not from ``quant_min`` to ``quant_max``
    """
    return fake_quantize_per_channel_affine_cachemask(x, scale, zero_point, axis, quant_min, quant_max)[0]


@aten("fake_quantize_per_tensor_affine_cachemask_backward", "fake_quantize_per_channel_affine_cachemask_backward")
def _cachemask_backward(grad, mask):
    if mask.dtype is not _core.bool:
        raise RuntimeError(
            "Expected mask.scalar_type() == ScalarType::Bool to be true, but got false.  (Could this error message be improved?  If so, "
            "please report an enhancement request to PyTorch.)"
        )
    if mask.numel() != grad.numel():
        raise RuntimeError(
            f"`mask` and `dY` are not the same size: `mask` is size {mask.numel()} and `dY` is size {grad.numel()}"
        )
    return grad * mask


# --- with scales that are learned -------------------------------------------------------------------------------------


def _learned(
    g: Any, x: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int, factor: float
) -> tuple[Any, Any, Any]:
    """Gradients by element: of x, of the scale, of the zero point."""
    steps = (x / scale + zero_point).round()
    low, high = steps < quant_min, steps > quant_max
    inside = ~(low | high)
    quantized = steps.clamp(quant_min, quant_max)
    back = (quantized - zero_point) * scale
    by_scale = torch.where(inside, (back - x) / scale, quantized - zero_point)
    return g * inside, g * by_scale * factor, torch.where(inside, 0.0, -g * scale) * factor


def _clamped(zero_point: Any, quant_min: int, quant_max: int) -> Any:
    return (zero_point + 0.5).floor().clamp(quant_min, quant_max)


@aten("_fake_quantize_learnable_per_tensor_affine_backward")
def _learnable_per_tensor_backward(grad, x, scale, zero_point, quant_min, quant_max, grad_factor):
    at = _clamped(zero_point, quant_min, quant_max)
    gx, gs, gz = _learned(grad, x, scale, at, quant_min, quant_max, grad_factor)
    return gx, gs.sum().reshape(scale.shape), gz.sum().reshape(zero_point.shape)


@aten("_fake_quantize_learnable_per_channel_affine_backward")
def _learnable_per_channel_backward(grad, x, scale, zero_point, axis, quant_min, quant_max, grad_factor):
    at = _along(_clamped(zero_point, quant_min, quant_max), x, axis)
    gx, gs, gz = _learned(grad, x, _along(scale, x, axis), at, quant_min, quant_max, grad_factor)
    over = [d for d in range(x.dim()) if d != axis % x.dim()]
    return gx, gs.sum(over) if over else gs, gz.sum(over) if over else gz


class _Learnable:
    function: Any = None

    @classmethod
    def apply(cls, x: Any, scale: Any, zero_point: Any, axis: int | None, low: int, high: int, factor: float) -> Any:
        if cls.function is None:

            class LearnableFakeQuantize(package().autograd.Function):  # type: ignore[misc, name-defined]
                @staticmethod
                def forward(
                    ctx: Any, x: Any, scale: Any, zero_point: Any, axis: Any, low: int, high: int, factor: float
                ) -> Any:
                    ctx.save_for_backward(x, scale, zero_point)
                    ctx.settings = (axis, low, high, factor)
                    at = _clamped(zero_point, low, high)
                    if axis is not None:
                        scale, at = _along(scale, x, axis), _along(at, x, axis)
                    return _rounded(x, scale, at, low, high)[0]

                @staticmethod
                def backward(ctx: Any, g: Any) -> Any:
                    axis, low, high, factor = ctx.settings
                    if axis is None:
                        found = _learnable_per_tensor_backward(g, *ctx.saved_tensors, low, high, factor)
                    else:
                        found = _learnable_per_channel_backward(g, *ctx.saved_tensors, axis, low, high, factor)
                    return *found, None, None, None, None

            cls.function = LearnableFakeQuantize
        return cls.function.apply(x, scale, zero_point, axis, low, high, factor)


@aten("_fake_quantize_learnable_per_tensor_affine", public=True)
def _fake_quantize_learnable_per_tensor_affine(x, scale, zero_point, quant_min, quant_max, grad_factor):
    _checked(quant_min, quant_max)
    return _Learnable.apply(x, scale, zero_point, None, quant_min, quant_max, grad_factor)


@aten("_fake_quantize_learnable_per_channel_affine", public=True)
def _fake_quantize_learnable_per_channel_affine(x, scale, zero_point, axis, quant_min, quant_max, grad_factor):
    _checked(quant_min, quant_max)
    return _Learnable.apply(x, scale, zero_point, axis, quant_min, quant_max, grad_factor)
