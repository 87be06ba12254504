"""Linear layers and what belongs to them: one product with its bias, and gradients that are products of their own.

``linear`` and ``fused_linear`` keep ``input`` only where the weight wants a gradient and ``weight`` only where the input
does. The gradients are operators (``shim::linear_backward_*``) that are each other's gradients in turn.
"""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.records.shared.convolution_rules import c_type_name
from shim_torch._impl.records.shared.linear_layers import (
    backward_dtype,
    bias_grad,
    conj,
    input_grad,
    is_row,
    kernel,
    linear_dtype,
    linear_shape,
    weight_grad,
)
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.tensor.einsum import einsum


@op(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    foreseen="floats",
    module="nn.functional",
    shape=linear_shape,
    dtype=linear_dtype,
    native="linear",
    out=True,
    grad={"input": input_grad, "weight": weight_grad, "bias": bias_grad},
    one_dtype=True,
    refuses=(("bn", "addmm_impl_cpu_"),),
    autocast="lower_precision",
    out_dtype="exact",
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
    if bias is not None and bias.ndim == 2 and is_row(bias.shape, input.ndim):
        return (y.reshape(-1, y.shape[-1]) + bias).reshape(y.shape)
    return y if bias is None else y + bias


def _backward_input_shape(grad_output: Any, weight: Any) -> Any:
    if weight.dim() != 2 or grad_output.dim() == 0 or grad_output.shape[-1] != weight.shape[0]:
        raise RuntimeError(
            f"linear_backward_input: gradients (*, N) and a weight (N, K) are needed, got {list(grad_output.shape)} and "
            f"{list(weight.shape)}"
        )
    return (*grad_output.shape[:-1], weight.shape[1])


def _backward_weight_shape(grad_output: Any, input: Any) -> Any:
    if grad_output.dim() == 0 or grad_output.shape[:-1] != input.shape[:-1] or input.dim() != grad_output.dim():
        raise RuntimeError(
            f"linear_backward_weight: gradients (*, N) and an input (*, K) are needed, got {list(grad_output.shape)} and "
            f"{list(input.shape)}"
        )
    return grad_output.shape[-1], input.shape[-1]


@op(
    "shim::linear_backward_input(Tensor grad_output, Tensor weight, ScalarType? out_dtype=None) -> Tensor",
    foreseen="floats",
    function=False,
    shape=_backward_input_shape,
    dtype=lambda grad_output, weight, out_dtype: backward_dtype(grad_output, weight, out_dtype),
    native="linear_backward_input",
    grad={
        "grad_output": lambda g, weight, grad_output_dtype: (
            g.to(weight.dtype).matmul(conj(weight).t()).to(grad_output_dtype)
        ),
        "weight": lambda g, grad_output, weight_dtype: kernel("linear_backward_weight")(
            conj(grad_output), g.to(weight_dtype), False
        ),
    },
)
def linear_backward_input(xp, grad_output, weight, out_dtype):
    """dx = dy · weight: (*, N) and (N, K) give (*, K), in the weight's dtype or ``out_dtype``."""
    return xp.matmul(grad_output.astype(weight.dtype, copy=False), weight)


@op(
    "shim::linear_backward_weight(Tensor grad_output, Tensor input, bool transposed=False, ScalarType? out_dtype=None)"
    " -> Tensor",
    foreseen="floats",
    function=False,
    shape=_backward_weight_shape,
    dtype=lambda grad_output, input, out_dtype: backward_dtype(grad_output, input, out_dtype),
    native="linear_backward_weight",
    grad={
        "grad_output": lambda g, input, grad_output_dtype: (
            conj(input).matmul(g.to(input.dtype).t()).to(grad_output_dtype)
        ),
        "input": lambda g, grad_output, input_dtype: kernel("linear_backward_input")(
            conj(grad_output), g.to(input_dtype)
        ),
    },
)
def linear_backward_weight(xp, grad_output, input, transposed, out_dtype):
    """dW = dyᵀ · x over all rows: (*, N) and (*, K) give (N, K), laid out as (K, N) memory where ``transposed``."""
    rows = math.prod(grad_output.shape[:-1])
    g = grad_output.astype(input.dtype, copy=False).reshape(rows, grad_output.shape[-1])
    return xp.matmul(g.T, input.reshape(rows, input.shape[-1]))


def _bias_spread(g, grad_output_shape):
    return g.expand(grad_output_shape)


@op(
    "shim::linear_backward_bias(Tensor grad_output) -> Tensor",
    foreseen="floats",
    function=False,
    shape=lambda grad_output: (grad_output.shape[-1],),
    dtype=lambda grad_output: grad_output.dtype,
    native="linear_backward_bias",
    grad={"grad_output": _bias_spread},
)
def linear_backward_bias(xp, grad_output):
    """db = dy summed over its rows: (*, N) gives (N,)."""
    return grad_output.reshape(math.prod(grad_output.shape[:-1]), grad_output.shape[-1]).sum(0)


@composite(
    "bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    module="nn.functional",
    also="torch",
    no_complex_gradient="_trilinear",
    refuses=(("bn", "bmm"),),
    autocast="off_cpu_promote_cuda",
)
def bilinear(input1, input2, weight, bias):
    """y[k] = Σ x1[i] · weight[k, i, j] · x2[j] + bias[k]: (*, I), (*, J), weight (K, I, J), bias (K,) give (*, K)."""
    if not input1.dtype == input2.dtype == weight.dtype:
        kinds = [c_type_name(t.dtype) for t in (input1, input2, weight)]
        raise RuntimeError(
            f"All tensors must have the same dtype, got input1: {kinds[0]}, input2: {kinds[1]}, weight: {kinds[2]}"
        )
    for name, x, size in (("input1", input1, weight.size(1)), ("input2", input2, weight.size(2))):
        if x.size(-1) != size:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {x.size(-1)} but expected {size}"
            )
    out = einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias
