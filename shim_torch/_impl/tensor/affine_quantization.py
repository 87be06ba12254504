"""Integers that stand for numbers by a scale and a zero point, in plain tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

_HALVES = (_core.float16, _core.bfloat16)


def wide(input: Any) -> Any:
    """Half precision and float32 as float32; AssertionError for other dtypes."""
    if input.dtype in _HALVES:
        input = input.to(_core.float32)
    if input.dtype != _core.float32:
        raise AssertionError(f"Expecting input to have dtype torch.float32, but got dtype: {input.dtype}")
    return input


def one_element(name: str, value: Any) -> Any:
    """The number in a tensor of one element; AssertionError, with ``name`` in it, for others."""
    if value.numel() != 1:
        raise AssertionError(f"Expecting {name} tensor to be one element, but received : {value.numel()}")
    return value.item()


def to_integers(numbers: Any, scale: Any, zero: Any, low: Any, high: Any, *, round_last: bool = False) -> Any:
    """q of x, still in x's dtype; ``round_last``: rounded with the zero point added, which may have a fraction."""
    scaled = numbers * (1.0 / scale)
    shifted = (scaled + zero).round() if round_last else scaled.round() + zero
    return shifted.clamp(low, high)


def to_numbers(integers: Any, scale: Any, zero: Any) -> Any:
    """x of q; no zero point is one of 0."""
    return (integers if zero is None else integers - zero) * scale


def _per_token_quant_qparam_dim_check(input: Any, scales: Any, zero_points: Any) -> None:
    tokens = input.numel() // input.size(-1)
    for name, values in (("scales", scales), ("zero_points", zero_points)):
        if tokens != values.numel():
            raise AssertionError(f"num_tokens: {tokens} {name}: {values.size()}")


def grouped(input: Any, group_size: int, scales: Any, zero_points: Any) -> tuple[Any, Any, Any]:
    """(rows of one group each, their scales, their zero points or None)"""
    if not group_size > 1:
        raise AssertionError("group_size must be > 1")
    if input.shape[-1] == group_size or scales.shape[-1] == 1:
        group_size = input.shape[-1]
    if input.shape[-1] % group_size or input.dim() != 2:
        raise AssertionError(f"input of shape {tuple(input.shape)} is not rows of groups of {group_size}")
    zero = None if zero_points is None else zero_points.reshape(-1, 1)
    return input.reshape(-1, group_size), scales.reshape(-1, 1), zero


def along(values: Any, axis: int, dims: int) -> Any:
    """The values (n,) of an axis, reshaped so that they broadcast with a tensor of ``dims`` dims."""
    shape = [1] * dims
    shape[axis] = -1
    return values.reshape(shape)


def channels(input: Any, axis: int, *values: Any) -> list[Any]:
    """Values of each index of an axis as they broadcast with the input; None stays None."""
    if not axis < input.dim():
        raise AssertionError(f"Expecting axis to be < {input.dim()}")
    return [None if v is None else along(v, axis, input.dim()) for v in values]
