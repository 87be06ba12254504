"""Linear layers and what belongs to them: one product with its bias, and gradients that are products of their own.

``linear`` and ``fused_linear`` keep ``input`` only where the weight wants a gradient and ``weight`` only where the input
does. The gradients are operators (``shim::linear_backward_*``) that are each other's gradients in turn.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from native import _core

from ._record import composite, op
from .matmul import addmm_dtype_rule, check_addmm, same_kind


@lru_cache(None)
def _kernel(name: str) -> Any:
    return _core.function(f"shim::{name}")


def _linear_shape(input, weight, bias):
    if input.dim() == 0 or weight.dim() == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.dim()}D and {weight.dim()}D"
        )
    if weight.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {weight.dim()}D")
    k = input.shape[-1]
    if weight.dim() == 1:
        if bias is not None and input.dim() > 1:
            raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
        if weight.shape[0] != k:
            raise RuntimeError(
                f"size mismatch, got input ({input.numel() // max(k, 1)}), mat ({input.numel() // max(k, 1)}x{k}), vec ({weight.shape[0]})"
            )
        return tuple(input.shape[:-1])
    if weight.shape[1] != k:
        rows = 1
        for n in input.shape[:-1]:
            rows *= n
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{k} and {weight.shape[1]}x{weight.shape[0]})"
        )
    shape = (*input.shape[:-1], weight.shape[0])
    if bias is not None:
        _check_bias(input, bias, shape)
    return shape


def _check_bias(input, bias, shape):
    """PyTorch folds the rows where the bias is a vector, and adds it afterwards where it has more dimensions."""
    if bias.dim() <= 1 or input.dim() <= 2:
        rows = 1
        for n in shape[:-1]:
            rows *= n
        check_addmm(bias, (rows, shape[-1]))
    else:
        _core.broadcast_shapes([shape, bias.shape])


def _linear_dtype(input, weight, bias):
    if bias is None:
        return same_kind(input, weight)
    return addmm_dtype_rule(bias, input, weight)


def _rows(t):
    return t.reshape(-1, t.size(-1)) if t.dim() != 2 else t


def _conj(t):
    return t.conj() if t.is_complex() else t


def _input_grad(g, weight):
    if weight.dim() == 1:
        return g.unsqueeze(-1) * _conj(weight)
    return _kernel("linear_backward_input")(g, _conj(weight))


def _weight_grad(g, input, weight_shape, weight_strides):
    if len(weight_shape) == 1:
        return (g.unsqueeze(-1) * _conj(input)).sum_to_size(weight_shape)
    transposed = weight_strides[0] == 1 and weight_strides[1] != 1
    return _kernel("linear_backward_weight")(g, _conj(input), transposed)


def _bias_grad(g, bias_shape):
    if len(bias_shape) == 1 and g.dim() > 1 and bias_shape[0] == g.size(-1):
        return _kernel("linear_backward_bias")(g)
    return g.sum_to_size(bias_shape)


@op(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    module="nn.functional",
    shape=_linear_shape,
    dtype=_linear_dtype,
    native="linear",
    grad={"input": _input_grad, "weight": _weight_grad, "bias": _bias_grad},
)
def linear(xp, input, weight, bias):
    """y = input · weightᵀ + bias.

    Shapes:  input (*, K), weight (N, K), bias (N,) -> (*, N); other biases broadcast to the result
    Dtypes:  one for all; float16 and bfloat16 are computed in float32 and rounded once
    Memory:  CUDA: one 32 MiB workspace a stream
    Errors:  RuntimeError "mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)"
    Source:  torch.nn.functional.linear (PyTorch docs)
    """
    y = xp.matmul(input, weight.T)
    return y if bias is None else y + bias


@op(
    "shim::linear_backward_input(Tensor grad_output, Tensor weight) -> Tensor",
    function=False,
    shape=lambda grad_output, weight: (*grad_output.shape[:-1], weight.shape[1]),
    dtype=lambda grad_output, weight: same_kind(grad_output, weight),
    native="linear_backward_input",
    grad={
        "grad_output": lambda g, weight: g.matmul(_conj(weight).t()),
        "weight": lambda g, grad_output: _kernel("linear_backward_weight")(_conj(grad_output), g, False),
    },
)
def linear_backward_input(xp, grad_output, weight):
    """dx = dy · weight: (*, N) and (N, K) give (*, K)."""
    return xp.matmul(grad_output, weight)


@op(
    "shim::linear_backward_weight(Tensor grad_output, Tensor input, bool transposed=False) -> Tensor",
    function=False,
    shape=lambda grad_output, input: (grad_output.shape[-1], input.shape[-1]),
    dtype=lambda grad_output, input: same_kind(grad_output, input),
    native="linear_backward_weight",
    grad={
        "grad_output": lambda g, input: _conj(input).matmul(g.t()),
        "input": lambda g, grad_output: _kernel("linear_backward_input")(_conj(grad_output), g),
    },
)
def linear_backward_weight(xp, grad_output, input, transposed):
    """dW = dyᵀ · x over all rows: (*, N) and (*, K) give (N, K), laid out as (K, N) memory where ``transposed``."""
    rows = math.prod(grad_output.shape[:-1])
    return xp.matmul(grad_output.reshape(rows, grad_output.shape[-1]).T, input.reshape(rows, input.shape[-1]))


def _bias_spread(g, grad_output_shape):
    return g.expand(grad_output_shape)


@op(
    "shim::linear_backward_bias(Tensor grad_output) -> Tensor",
    function=False,
    shape=lambda grad_output: (grad_output.shape[-1],),
    dtype=lambda grad_output: grad_output.dtype,
    native="linear_backward_bias",
    grad={"grad_output": _bias_spread},
)
def linear_backward_bias(xp, grad_output):
    """db = dy summed over its rows: (*, N) gives (N,)."""
    return grad_output.reshape(math.prod(grad_output.shape[:-1]), grad_output.shape[-1]).sum(0)


@composite("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", module="nn.functional")
def bilinear(input1, input2, weight, bias):
    import shim_torch

    out = shim_torch.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias
