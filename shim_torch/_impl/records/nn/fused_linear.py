"""A linear layer with its activation in one operator, what it keeps for its gradient, and that gradient."""

from __future__ import annotations

import math

from shim_torch._impl.arrays.special import special
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.activation_slopes import activation_slope
from shim_torch._impl.records.shared.linear_layers import (
    backward_dtype,
    bias_grad,
    input_grad,
    kernel,
    linear_dtype,
    linear_shape,
    weight_grad,
)
from shim_torch._impl.records.shared.products import addmm_dtype, addmm_shape, combined
from shim_torch._impl.table.record import op


def _activated(xp, z, activation):
    if activation == "relu":
        return xp.maximum(z, z.dtype.type(0))
    if activation == "gelu_tanh":
        return 0.5 * z * (1 + xp.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))
    return 0.5 * z * (1 + special(xp, "erf")(z * z.dtype.type(1 / math.sqrt(2))))


def _addmm_activation_dtype(self, mat1, mat2, use_gelu):
    dtype = addmm_dtype(self, mat1, mat2)
    if dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    if use_gelu and not dtype.is_floating_point:
        raise NotImplementedError(f"\"GeluKernelImpl\" not implemented for '{_core.scalar_name(dtype)}'")
    return dtype


@op(
    "_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor",
    foreseen="floats",
    shape=addmm_shape,
    dtype=_addmm_activation_dtype,
    out=True,
    method=False,
    native="_addmm_activation",
    gradient_name="torch::autograd::NotImplemented",
)
def _addmm_activation(xp, self, mat1, mat2, beta, alpha, use_gelu):
    """relu(beta · self + alpha · mat1 · mat2), or gelu of it: by erf on the CPU, by tanh on CUDA. No gradients, as in PyTorch."""
    z = combined(xp, self, xp.matmul(mat1, mat2), beta, alpha)
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
    foreseen="floats",
    function=False,
    shape=lambda grad_output: grad_output.shape,
    dtype=lambda grad_output, saved: backward_dtype(grad_output, saved, None),
    native="activation_backward",
    grad={
        "grad_output": lambda g, saved, activation, grad_output_dtype: kernel("activation_backward")(
            g, saved, activation
        ).to(grad_output_dtype),
        "saved": _saved_grad,
    },
)
def activation_backward(xp, grad_output, saved, activation):
    """dy · act'(z). ``saved`` is the result y for relu (0 where y <= 0, so NaN passes as PyTorch's does), z for gelu."""
    grad_output = grad_output.astype(saved.dtype, copy=False)
    return activation_slope(xp, grad_output, saved, f"{activation}_backward")


@op(
    "shim::activation_backward_bias(Tensor grad_output, Tensor saved, str activation) -> (Tensor, Tensor)",
    foreseen="floats",
    function=False,
    shape=lambda grad_output: [grad_output.shape, (grad_output.shape[-1],)],
    dtype=lambda grad_output, saved: backward_dtype(grad_output, saved, None),
    native="activation_backward_bias",
)
def activation_backward_bias(xp, grad_output, saved, activation):
    """(dz, its sum over rows), as ``activation_backward`` and ``linear_backward_bias`` one after the other."""
    dz = activation_backward(xp, grad_output, saved, activation)
    return dz, dz.reshape(math.prod(dz.shape[:-1]), dz.shape[-1]).sum(0)


def _fused_dtype(input, weight, bias, activation):
    dtype = linear_dtype(input, weight, bias)
    if not dtype.is_floating_point:
        raise NotImplementedError(f"fused_linear: {activation} is computed of floating-point numbers, got {dtype}")
    return dtype


def _fused_shape(input, weight, bias, keep):
    shape = linear_shape(input, weight, bias)
    return [shape, shape if keep else (0,)]


def _dz(g, g1, saved, activation):
    """The gradient of the product: through the activation, plus what came for the kept input itself."""
    if saved.shape != g.shape:
        raise RuntimeError(
            f"fused_linear: the gradient of {activation} needs what forward keeps for it, which was not kept: "
            "call it with keep=True where gradients are wanted"
        )
    dz = kernel("activation_backward")(g, saved, activation)
    return dz if g1 is None or activation == "relu" else dz + g1


def _dz_and_bias(g, g1, saved, activation, bias_shape):
    """Both at once on CUDA: one kernel reads the gradient once. Not where these are differentiated again."""
    one_pass = g.is_cuda and not _core.is_grad_enabled() and (g1 is None or activation == "relu")
    one_pass = one_pass and not _core.gemm_legacy_linear() and g.dtype is saved.dtype
    if one_pass and saved.shape == g.shape and g.dim() > 1 and tuple(bias_shape) == (g.size(-1),):
        return kernel("activation_backward_bias")(g, saved, activation)
    dz = _dz(g, g1, saved, activation)
    return dz, bias_grad(dz, bias_shape)


def _fused_input(g, g1, result1, activation, weight):
    return input_grad(_dz(g, g1, result1, activation), weight)


def _fused_weight(g, g1, result1, activation, input, weight_shape, weight_strides):
    return weight_grad(_dz(g, g1, result1, activation), input, weight_shape, weight_strides)


def _fused_bias(g, g1, result1, activation, bias_shape):
    return bias_grad(_dz(g, g1, result1, activation), bias_shape)


def _fused_input_weight(g, g1, result1, activation, input, weight, weight_shape, weight_strides):
    dz = _dz(g, g1, result1, activation)
    return input_grad(dz, weight), weight_grad(dz, input, weight_shape, weight_strides)


def _fused_weight_bias(g, g1, result1, activation, input, weight_shape, weight_strides, bias_shape):
    dz, db = _dz_and_bias(g, g1, result1, activation, bias_shape)
    return weight_grad(dz, input, weight_shape, weight_strides), db


def _fused_input_bias(g, g1, result1, activation, weight, bias_shape):
    dz, db = _dz_and_bias(g, g1, result1, activation, bias_shape)
    return input_grad(dz, weight), db


def _fused_all(g, g1, result1, activation, input, weight, weight_shape, weight_strides, bias_shape):
    dz, db = _dz_and_bias(g, g1, result1, activation, bias_shape)
    return input_grad(dz, weight), weight_grad(dz, input, weight_shape, weight_strides), db


@op(
    "shim::fused_linear(Tensor input, Tensor weight, Tensor? bias, str activation, bool keep=True) -> (Tensor, Tensor)",
    foreseen="floats",
    function=False,
    shape=_fused_shape,
    dtype=_fused_dtype,
    native="fused_linear",
    grad={"input": _fused_input, "weight": _fused_weight, "bias": _fused_bias},
    fused={
        "input, weight, bias": _fused_all,
        "input, weight": _fused_input_weight,
        "weight, bias": _fused_weight_bias,
        "input, bias": _fused_input_bias,
    },
    autocast="lower_precision",
)
def fused_linear(xp, input, weight, bias, activation, keep):
    """(act(input · weightᵀ + bias), what its gradient needs): relu, gelu (erf) or gelu_tanh.

    With ``keep`` the second result is the activation's input for gelu, and the first result again for relu; else empty.
    """
    z = xp.matmul(input, weight.T)
    z = z if bias is None else z + bias
    y = _activated(xp, z, activation)
    return y, (y.copy() if activation == "relu" else z) if keep else z.reshape(-1)[:0]
