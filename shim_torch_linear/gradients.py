"""The gradients of linear layers, matrix products and outer products as functions: one result each, no history needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core


def linear_backward_input(grad_output: Any, weight: Any, out_dtype: Any = None) -> Any:
    """dx = dy · weight.

    Shapes:  grad_output (*, N), weight (N, K), a transposed view too -> (*, K)
    Dtypes:  the weight's, to which dy is cast; ``out_dtype`` float32 keeps the sums of 16-bit operands unrounded
    Errors:  RuntimeError for other shapes, and for an ``out_dtype`` that is neither the weight's nor float32 of 16-bit ones
    """
    return _core.function("shim::linear_backward_input")(grad_output, weight, out_dtype)


def linear_backward_weight(grad_output: Any, input: Any, transposed: bool = False, out_dtype: Any = None) -> Any:
    """dW = dyᵀ · x, summed over all rows.

    Shapes:  grad_output (*, N), input (*, K) -> (N, K), in the memory of a (K, N) matrix where ``transposed``
    Dtypes:  the input's, or ``out_dtype``, as for ``linear_backward_input``
    Errors:  as those of ``linear_backward_input``
    """
    return _core.function("shim::linear_backward_weight")(grad_output, input, transposed, out_dtype)


def linear_backward_bias(grad_output: Any, out_dtype: Any = None) -> Any:
    """db = dy summed over its rows: (*, N) -> (N,), in dy's dtype or ``out_dtype``; 16-bit floats are added up in float32."""
    if grad_output.dim() == 0:
        raise RuntimeError("linear_backward_bias: gradients (*, N) are needed, got a tensor without dimensions")
    if out_dtype is not None and out_dtype is not grad_output.dtype:
        return grad_output.reshape(math.prod(grad_output.shape[:-1]), grad_output.shape[-1]).sum(0, dtype=out_dtype)
    return _core.function("shim::linear_backward_bias")(grad_output)


def _conj(t: Any) -> Any:
    return t.conj() if t.is_complex() else t


def _like(grad_output: Any, kept: Any) -> Any:
    """The gradient cast to the dtype of the tensor that forward saved."""
    floats = grad_output.is_floating_point() and kept.is_floating_point()
    return grad_output.to(kept.dtype) if floats else grad_output


def _summed(grad: Any, shape: Sequence[int] | None) -> Any:
    """The gradient of a broadcast operand: summed over the dims that were expanded."""
    return grad if shape is None else grad.sum_to_size(tuple(shape))


def matmul_backward_input(grad_output: Any, other: Any, input_shape: Sequence[int] | None = None) -> Any:
    """The gradient of ``matmul(input, other)`` by ``input``: dy · otherᵀ.

    Shapes:  grad_output (*, M, N), other (*, K, N) -> (*, M, K); vectors as ``matmul`` takes them.
             ``input_shape``: input's, which the result has; needed where input was broadcast or is a vector
    Dtypes:  other's, to which dy is cast
    """
    grad_output = _like(grad_output, other)
    vector = input_shape is not None and len(input_shape) == 1
    rows = grad_output.unsqueeze(-1) if other.dim() == 1 else grad_output
    rows = rows.unsqueeze(-2) if vector else rows
    columns = other.unsqueeze(-1) if other.dim() == 1 else other
    grad = rows.matmul(_conj(columns).transpose(-1, -2))
    return _summed(grad.squeeze(-2) if vector else grad, input_shape)


def matmul_backward_other(grad_output: Any, input: Any, other_shape: Sequence[int] | None = None) -> Any:
    """The gradient of ``matmul(input, other)`` by ``other``: inputᵀ · dy.

    Shapes:  grad_output (*, M, N), input (*, M, K) -> (*, K, N); vectors as ``matmul`` takes them.
             ``other_shape``: other's, which the result has; needed where other was broadcast or is a vector
    Dtypes:  input's, to which dy is cast
    """
    grad_output = _like(grad_output, input)
    vector = other_shape is not None and len(other_shape) == 1
    columns = grad_output.unsqueeze(-1) if vector else grad_output
    columns = columns.unsqueeze(-2) if input.dim() == 1 else columns
    rows = input.unsqueeze(0) if input.dim() == 1 else input
    grad = _conj(rows).transpose(-1, -2).matmul(columns)
    return _summed(grad.squeeze(-1) if vector else grad, other_shape)


def outer_backward_input(grad_output: Any, other: Any) -> Any:
    """The gradient of ``outer(input, other)`` by ``input``: dy · other, (M, N) and (N,) -> (M,)."""
    return _like(grad_output, other).mv(_conj(other))


def outer_backward_other(grad_output: Any, input: Any) -> Any:
    """The gradient of ``outer(input, other)`` by ``other``: dyᵀ · input, (M, N) and (M,) -> (N,)."""
    return _like(grad_output, input).t().mv(_conj(input))
