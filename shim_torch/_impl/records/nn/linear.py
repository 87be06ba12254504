"""Linear layers and what belongs to them: one product with its bias, and gradients that are products of their own.

``linear`` and ``fused_linear`` keep ``input`` only where the weight wants a gradient and ``weight`` only where the input
does. The gradients are operators (``shim::linear_backward_*``) that are each other's gradients in turn.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.linalg.add_products import (
    _addmm_shape,
    _combined,
    addmm_dtype_rule,
    check_addmm,
)
from shim_torch._impl.records.linalg.matmul import same_kind
from shim_torch._impl.records.shim.cuda_kernels import pointwise_backward
from shim_torch._impl.table.record import composite, op
from shim_torch._utils import _scalar


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


def _is_row(bias_shape, dims):
    """Whether PyTorch adds the bias within the product of folded rows: a vector, whatever dimensions of 1 it has beside."""
    return dims == 2 or len(bias_shape) <= 1 or sum(n != 1 for n in bias_shape) == 1


def _check_bias(input, bias, shape):
    if _is_row(bias.shape, input.dim()):
        check_addmm(bias, (math.prod(shape[:-1]), shape[-1]))
        return
    for i in range(1, 1 + min(len(shape), bias.dim())):  # the sum's words, which looks at the last dimension first
        n, extent = shape[-i], bias.shape[-i]
        if n != extent and 1 not in (n, extent):
            raise RuntimeError(
                f"The size of tensor a ({n}) must match the size of tensor b ({extent}) at non-singleton dimension "
                f"{max(len(shape), bias.dim()) - i}"
            )
    wide = _core.broadcast_shapes([shape, bias.shape])
    if tuple(wide) != tuple(shape):
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(wide)}")


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
    if len(bias_shape) == 2 and _is_row(bias_shape, g.dim()):
        g = _rows(g)
    return g.sum_to_size(bias_shape)


@op(
    "linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    module="nn.functional",
    shape=_linear_shape,
    dtype=_linear_dtype,
    native="linear",
    out=True,
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
    if bias is not None and bias.ndim == 2 and _is_row(bias.shape, input.ndim):
        return (y.reshape(-1, y.shape[-1]) + bias).reshape(y.shape)
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


# --- linear with an activation ------------------------------------------------------------------------------------------


def _activated(xp, z, activation):
    if activation == "relu":
        return xp.maximum(z, z.dtype.type(0))
    if activation == "gelu_tanh":
        return 0.5 * z * (1 + xp.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))
    return 0.5 * z * (1 + special(xp, "erf")(z * z.dtype.type(1 / math.sqrt(2))))


def _addmm_activation_dtype(self, mat1, mat2, use_gelu):
    dtype = addmm_dtype_rule(self, mat1, mat2)
    if dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if use_gelu and not dtype.is_floating_point:
        raise NotImplementedError(f"\"GeluKernelImpl\" not implemented for '{_scalar(dtype)}'")
    return dtype


@op(
    "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor",
    shape=_addmm_shape,
    dtype=_addmm_activation_dtype,
    out=True,
    method=False,
    native="_addmm_activation",
)
def _addmm_activation(xp, self, mat1, mat2, beta, alpha, use_gelu):
    """relu(beta · self + alpha · mat1 · mat2), or gelu of it: by erf on the CPU, by tanh on CUDA. No gradients, as in PyTorch."""
    z = _combined(xp, self, xp.matmul(mat1, mat2), beta, alpha)
    return _activated(xp, z, "relu" if not use_gelu else "gelu" if xp.__name__ == "numpy" else "gelu_tanh")


def _curvature(z, activation):
    """gelu''(z)."""
    if activation == "gelu_tanh":
        c = math.sqrt(2 / math.pi)
        t = (c * (z + 0.044715 * z * z * z)).tanh()
        du = c * (1 + 3 * 0.044715 * z * z)
        return (1 - t * t) * du + 0.5 * z * (1 - t * t) * (6 * 0.044715 * c * z - 2 * t * du * du)
    return (2 - z * z) * (-0.5 * z * z).exp() * (1 / math.sqrt(2 * math.pi))


def _saved_grad(g, grad_output, saved, activation):
    if activation == "relu":
        return None
    return g * grad_output * _curvature(saved, activation)


@op(
    "shim::activation_backward(Tensor grad_output, Tensor saved, str activation) -> Tensor",
    function=False,
    shape=lambda grad_output: grad_output.shape,
    dtype=lambda grad_output, saved: same_kind(grad_output, saved),
    native="activation_backward",
    grad={
        "grad_output": lambda g, saved, activation: _kernel("activation_backward")(g, saved, activation),
        "saved": _saved_grad,
    },
)
def activation_backward(xp, grad_output, saved, activation):
    """dy · act'(z). ``saved`` is the result y for relu (0 where y <= 0, so NaN passes as PyTorch's does), z for gelu."""
    return pointwise_backward(xp, grad_output, saved, f"{activation}_backward")


@op(
    "shim::activation_backward_bias(Tensor grad_output, Tensor saved, str activation) -> (Tensor, Tensor)",
    function=False,
    shape=lambda grad_output: [grad_output.shape, (grad_output.shape[-1],)],
    dtype=lambda grad_output, saved: same_kind(grad_output, saved),
    native="activation_backward_bias",
)
def activation_backward_bias(xp, grad_output, saved, activation):
    """(dz, its sum over rows), as ``activation_backward`` and ``linear_backward_bias`` one after the other."""
    dz = activation_backward(xp, grad_output, saved, activation)
    return dz, dz.reshape(math.prod(dz.shape[:-1]), dz.shape[-1]).sum(0)


def _fused_shape(input, weight, bias, keep):
    shape = _linear_shape(input, weight, bias)
    return [shape, shape if keep else (0,)]


def _dz(g, g1, saved, activation):
    """The gradient of the product: through the activation, plus what came for the kept input itself."""
    if saved.shape != g.shape:
        raise RuntimeError(
            f"fused_linear: the gradient of {activation} needs what forward keeps for it, which was not kept: "
            "call it with keep=True where gradients are wanted"
        )
    dz = _kernel("activation_backward")(g, saved, activation)
    return dz if g1 is None or activation == "relu" else dz + g1


def _dz_and_bias(g, g1, saved, activation, bias_shape):
    """Both at once on CUDA: one kernel reads the gradient once. Not where these are differentiated again."""
    one_pass = g.is_cuda and not _core.is_grad_enabled() and (g1 is None or activation == "relu")
    if one_pass and saved.shape == g.shape and g.dim() > 1 and tuple(bias_shape) == (g.size(-1),):
        return _kernel("activation_backward_bias")(g, saved, activation)
    dz = _dz(g, g1, saved, activation)
    return dz, _bias_grad(dz, bias_shape)


def _fused_input(g, g1, result1, activation, weight):
    return _input_grad(_dz(g, g1, result1, activation), weight)


def _fused_weight(g, g1, result1, activation, input, weight_shape, weight_strides):
    return _weight_grad(_dz(g, g1, result1, activation), input, weight_shape, weight_strides)


def _fused_bias(g, g1, result1, activation, bias_shape):
    return _bias_grad(_dz(g, g1, result1, activation), bias_shape)


def _fused_input_weight(g, g1, result1, activation, input, weight, weight_shape, weight_strides):
    dz = _dz(g, g1, result1, activation)
    return _input_grad(dz, weight), _weight_grad(dz, input, weight_shape, weight_strides)


def _fused_weight_bias(g, g1, result1, activation, input, weight_shape, weight_strides, bias_shape):
    dz, db = _dz_and_bias(g, g1, result1, activation, bias_shape)
    return _weight_grad(dz, input, weight_shape, weight_strides), db


def _fused_input_bias(g, g1, result1, activation, weight, bias_shape):
    dz, db = _dz_and_bias(g, g1, result1, activation, bias_shape)
    return _input_grad(dz, weight), db


def _fused_all(g, g1, result1, activation, input, weight, weight_shape, weight_strides, bias_shape):
    dz, db = _dz_and_bias(g, g1, result1, activation, bias_shape)
    return _input_grad(dz, weight), _weight_grad(dz, input, weight_shape, weight_strides), db


@op(
    "shim::fused_linear(Tensor input, Tensor weight, Tensor? bias, str activation, bool keep=True) -> (Tensor, Tensor)",
    function=False,
    shape=_fused_shape,
    dtype=_linear_dtype,
    native="fused_linear",
    grad={"input": _fused_input, "weight": _fused_weight, "bias": _fused_bias},
    fused={
        "input, weight, bias": _fused_all,
        "input, weight": _fused_input_weight,
        "weight, bias": _fused_weight_bias,
        "input, bias": _fused_input_bias,
    },
)
def fused_linear(xp, input, weight, bias, activation, keep):
    """(act(input · weightᵀ + bias), what its gradient needs): relu, gelu (erf) or gelu_tanh.

    With ``keep`` the second result is the activation's input for gelu, and the first result again for relu; else empty.
    """
    z = xp.matmul(input, weight.T)
    z = z if bias is None else z + bias
    y = _activated(xp, z, activation)
    return y, (y.copy() if activation == "relu" else z) if keep else z.reshape(-1)[:0]


@composite("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", module="nn.functional")
def bilinear(input1, input2, weight, bias):
    import shim_torch

    out = shim_torch.einsum("...i,kij,...j->...k", input1, weight, input2)
    return out if bias is None else out + bias
