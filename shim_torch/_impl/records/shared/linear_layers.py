"""Shapes, dtypes and gradients that linear layers share, with an activation and without."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.products import addmm_dtype, check_addmm, same_kind, wide_dtype


@lru_cache(None)
def kernel(name: str) -> Any:
    """The operator ``shim::name``."""
    return _core.function(f"shim::{name}")


def linear_shape(input, weight, bias):
    """The shape of input · weightᵀ + bias; RuntimeError, in PyTorch's words, where the shapes do not fit."""
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


def is_row(bias_shape, dims):
    """Whether PyTorch adds the bias within the product of folded rows: a vector, whatever dimensions of 1 it has beside."""
    return dims == 2 or len(bias_shape) <= 1 or sum(n != 1 for n in bias_shape) == 1


def _check_bias(input, bias, shape):
    if is_row(bias.shape, input.dim()):
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


def linear_dtype(input, weight, bias):
    """The dtype that input, weight and bias share; RuntimeError where they do not."""
    if bias is None:
        return same_kind(input, weight)
    return addmm_dtype(bias, input, weight)


def _rows(t):
    return t.reshape(-1, t.size(-1)) if t.dim() != 2 else t


def conj(t):
    """The conjugate of a complex tensor, others as they are."""
    return t.conj() if t.is_complex() else t


def input_grad(g, weight):
    """The gradient of a linear layer by its input."""
    if weight.dim() == 1:
        return g.unsqueeze(-1) * conj(weight)
    return kernel("linear_backward_input")(g, conj(weight))


def weight_grad(g, input, weight_shape, weight_strides):
    """The gradient of a linear layer by its weight, laid out as the weight is."""
    if len(weight_shape) == 1:
        return (g.unsqueeze(-1) * conj(input)).sum_to_size(weight_shape)
    transposed = weight_strides[0] == 1 and weight_strides[1] != 1
    return kernel("linear_backward_weight")(g, conj(input), transposed)


def bias_grad(g, bias_shape):
    """The gradient of a linear layer by its bias: summed to the bias' shape."""
    if len(bias_shape) == 1 and g.dim() > 1 and bias_shape[0] == g.size(-1) and not g.is_complex():
        return kernel("linear_backward_bias")(g)
    if len(bias_shape) == 2 and is_row(bias_shape, g.dim()):
        g = _rows(g)
    return g.sum_to_size(bias_shape)


def _both_floats(grad_output: Any, kept: Any) -> bool:
    return grad_output.is_floating_point() and kept.is_floating_point()


def backward_dtype(grad_output: Any, kept: Any, out_dtype: Any) -> Any:
    """That of what forward kept, to which the gradient is rounded first, or ``out_dtype``."""
    dtype = kept.dtype if _both_floats(grad_output, kept) else same_kind(grad_output, kept)
    return dtype if out_dtype is None else wide_dtype(out_dtype, kept)
