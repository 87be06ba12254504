"""Operators of our own (``torch.ops.shim``) that are one CUDA kernel where PyTorch's names are several; bodies are their references.

What they serve calls them on CUDA only, with ``kernel``. Gradients of gradients are those of the same formulas in tensor operations.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.activation_slopes import activation_slope
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.record import op

_SHIM = {"function": False}


# --- dropout ------------------------------------------------------------------------------------------------------------


@op(
    "shim::dropout(Tensor input, float p, int seed, int start) -> (Tensor, Tensor)",
    shape=lambda input: [input.shape, input.shape],
    dtype=lambda input: (input.dtype, [input.dtype, _core.bool]),
    native="cuda_dropout",
    gradient_name="NativeDropoutBackward0",
    differentiable=(0,),
    grad={"input": lambda g, p, result1: shim.masked_scale(g, result1, 1 / (1 - p))},
    **_SHIM,
)
def dropout(xp, input, p, seed, start):
    """input / (1 - p) where the stream's number is at least p, else 0; and the mask of those kept."""
    from shim_torch._impl.tensor.generator import philox

    words = philox(xp, seed, start, (input.size + 3) // 4).reshape(-1)[: input.size]
    keep = ((words >> xp.uint32(8)).astype("float32") * xp.float32(2.0**-24) >= xp.float32(p)).reshape(input.shape)
    return input * keep.astype(input.dtype) * input.dtype.type(1 / (1 - p)), keep


@op(
    "shim::masked_scale(Tensor self, Tensor mask, float scale) -> Tensor",
    gradient_name="MulBackward0",
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    keep=("mask",),
    native="masked_scale",
    grad={"self": lambda g, mask, scale: shim.masked_scale(g, mask, scale)},
    **_SHIM,
)
def masked_scale(xp, self, mask, scale):
    """self * scale where the mask is true, else self * 0."""
    return self * xp.where(mask, self.dtype.type(scale), self.dtype.type(0))


# --- rows added in order --------------------------------------------------------------------------------------------------


def _runs_spread(g, keys, order, skip, values_shape):
    counted = (keys >= 0) & (keys != skip)
    picked = g[keys.clamp(min=0)] * counted.to(g.dtype).reshape(-1, *[1] * (g.dim() - 1))
    spread = picked.new_zeros(picked.shape).index_put((order,), picked)
    return spread.reshape(values_shape)


@op(
    "shim::add_runs(Tensor self, Tensor keys, Tensor order, Tensor values, int skip) -> Tensor",
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    keep=("keys", "order"),
    inplace=True,
    native="add_runs",
    grad={"self": lambda g: g, "values": _runs_spread},
    **_SHIM,
)
def add_runs(xp, self, keys, order, values, skip):
    """A copy of self with values[order[k]] added to row keys[k] of it, for all k in turn: the same sums in every run.

    Shapes:  self (rows, ...), keys and order (n,) int64, keys sorted, values (n, ...); keys below 0 and of ``skip`` are left out
    """
    out = self.copy()
    counted = (keys >= 0) & (keys != skip)
    xp.add.at(out, keys[counted], values[order[counted]])
    return out


# --- gradients of activations ---------------------------------------------------------------------------------------------


@op(
    "shim::pointwise_backward(Tensor grad_output, Tensor saved, str name, float p=0, float q=0, float r=0) -> Tensor",
    shape=lambda grad_output: grad_output.shape,
    dtype=lambda grad_output: grad_output.dtype,
    native="pointwise_backward",
    **_SHIM,
)
def pointwise_backward(xp, grad_output, saved, name, p=0.0, q=0.0, r=0.0):
    """g · f'(x) for "silu_backward", "gelu_backward", "gelu_tanh_backward", on the CPU "mish_backward" (saved: x), and
    "sigmoid_backward", "tanh_backward", "relu_backward" (saved: the result); and, of the input and the numbers p, q, r, those of
    ``SLOPES``."""
    return activation_slope(xp, grad_output, saved, name, p, q, r)


def one_kernel(g: Any, saved: Any) -> bool:
    """Whether a gradient is one kernel: of equal floating dtypes and shapes, and not to be differentiated itself."""
    return bool(_core.one_pass(g, saved))


@op(
    "shim::softmax_backward(Tensor grad_output, Tensor result, int dim, bool log) -> Tensor",
    shape=lambda result: result.shape,
    dtype=lambda result: result.dtype,
    native="softmax_backward",
    **_SHIM,
)
def softmax_backward(xp, grad_output, result, dim, log):
    """The gradient of softmax, or of log_softmax, from its result."""
    if log:
        return grad_output - xp.exp(result) * grad_output.sum(axis=dim, keepdims=True)
    return result * (grad_output - (grad_output * result).sum(axis=dim, keepdims=True))
