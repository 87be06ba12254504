"""Operators of our own (``torch.ops.shim``) that are one CUDA kernel where PyTorch's names are several; bodies are their references.

What they serve calls them on CUDA only, with ``kernel``. Gradients of gradients are those of the same formulas in tensor operations.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.activation_slopes import activation_slope
from shim_torch._impl.records.shared.formulas import alone_on_cuda
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import op

_SHIM = {"function": False}
_FLOATS = {**_SHIM, "foreseen": "floats"}


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
    **_FLOATS,
)
def masked_scale(xp, self, mask, scale):
    """self * scale where the mask is true, else self * 0."""
    return self * xp.where(mask, self.dtype.type(scale), self.dtype.type(0))


# --- draws ----------------------------------------------------------------------------------------------------------------


def _uniforms(xp, count, wide, seed, start):
    """``count`` uniform numbers of the stream, of a word each, or of two."""
    from shim_torch._impl.tensor.generator import philox

    words = philox(xp, seed, start, (count * (2 if wide else 1) + 3) // 4).reshape(-1)
    if not wide:
        return (words[:count] >> xp.uint32(8)).astype("float32") * xp.float32(2.0**-24)
    high, low = words[: 2 * count : 2].astype(xp.uint64), words[1 : 2 * count : 2].astype(xp.uint64)
    return (((high << xp.uint64(21)) ^ (low >> xp.uint64(11))) & xp.uint64((1 << 53) - 1)).astype("float64") * 2.0**-53


@op(
    "shim::permutation(Tensor like, int seed, int start) -> Tensor",
    shape=lambda like: like.shape,
    dtype=lambda: (None, _core.int64),
    keep=("like",),
    native="permutation",
    **_SHIM,
)
def permutation(xp, like, seed, start):
    """The numbers below a vector's length, as sorting the stream's draws of [0, 2**62) orders them."""
    from shim_torch._impl.tensor.generator import philox

    words = philox(xp, seed, start, (like.size + 1) // 2).reshape(-1).astype(xp.uint64)
    keys = ((words[0::2] << xp.uint64(32)) | words[1::2]) & xp.uint64((1 << 62) - 1)
    return keys[: like.size].argsort().astype("int64")


@op(
    "shim::bernoulli(Tensor chances, int seed, int start) -> Tensor",
    shape=lambda chances: chances.shape,
    dtype=lambda chances: chances.dtype,
    keep=("chances",),
    native="bernoulli_at",
    **_SHIM,
)
def bernoulli(xp, chances, seed, start):
    """1 where the stream's number is below the chance, else 0."""
    u = _uniforms(xp, chances.size, chances.dtype == "float64", seed, start).reshape(chances.shape)
    return (u < chances).astype(chances.dtype)


@op(
    "shim::rrelu(Tensor self, float lower, float upper, int seed, int start) -> (Tensor, Tensor)",
    shape=lambda self: [self.shape, self.shape],
    dtype=lambda self: (self.dtype, [self.dtype, self.dtype]),
    native="rrelu_at",
    gradient_name="RreluWithNoiseBackward0",
    differentiable=(0,),
    grad={"self": lambda g, result1: g * result1},
    **_SHIM,
)
def rrelu(xp, self, lower, upper, seed, start):
    """self times slopes, and the slopes: 1 where self is positive, elsewhere the stream's numbers of [lower, upper)."""
    u = _uniforms(xp, self.size, False, seed, start) * xp.float32(upper - lower) + xp.float32(lower)
    slopes = xp.where(self > 0, self.dtype.type(1), u.reshape(self.shape).astype(self.dtype))
    return self * slopes, slopes


_FAULTS: dict[str, Any] = {**_SHIM, "keep": ("weights",)}


@op(
    "shim::multinomial_faults(Tensor weights) -> Tensor",
    shape=lambda: (),
    dtype=lambda weights: (None, _core.int32),
    native="multinomial_faults",
    **_FAULTS,
)
def multinomial_faults(xp, weights):
    """What is wrong with rows of weights: 1 one that is negative, infinite or no number, 2 a row without one above zero."""
    wrong = ~((weights >= 0) & xp.isfinite(weights))
    return xp.asarray(wrong.any() + 2 * ~(weights > 0).any(axis=1).all(), dtype="int32")


@op(
    "shim::multinomial_one(Tensor weights, int seed, int start) -> (Tensor, Tensor)",
    shape=lambda weights: [(weights.shape[0], 1), ()],
    dtype=lambda weights: (None, [_core.int64, _core.int32]),
    native="multinomial_one",
    **_FAULTS,
)
def multinomial_one(xp, weights, seed, start):
    """A place of each row by exponential races: of weight / draw the greatest; and the faults."""
    wide = weights.dtype == "float64"
    u = _uniforms(xp, weights.size, wide, seed, start).reshape(weights.shape)
    e = xp.maximum(-xp.log(1 - u), u.dtype.type(2.0**-53 if wide else 2.0**-24))
    return (weights / e).argmax(axis=1)[:, None].astype("int64"), multinomial_faults(xp, weights)


@op(
    "shim::multinomial_many(Tensor weights, int draws, int seed, int start) -> Tensor",
    shape=lambda weights, draws: (weights.shape[0], draws),
    dtype=lambda weights: (None, _core.int64),
    native="multinomial_many",
    **_FAULTS,
)
def multinomial_many(xp, weights, draws, seed, start):
    """Places of each row with replacement: where the stream's numbers lie among the sums of its weights."""
    edges = weights.astype("float64").cumsum(axis=1)
    sought = _uniforms(xp, weights.shape[0] * draws, True, seed, start).reshape(-1, draws) * edges[:, -1:]
    places = (edges[:, None, :] <= sought[:, :, None]).sum(axis=2)
    return xp.minimum(places, weights.shape[1] - 1).astype("int64")


# --- rows added in order --------------------------------------------------------------------------------------------------


def _runs_spread(g, keys, order, skip, values_shape):
    counted = (keys >= 0) & (keys != skip)
    picked = g[keys.clamp(min=0)] * counted.to(g.dtype).reshape(-1, *[1] * (g.dim() - 1))
    spread = picked.new_zeros(picked.shape).index_put((order,), picked)
    return spread.reshape(values_shape)


@op(
    "shim::add_runs(Tensor self, Tensor keys, Tensor order, Tensor values, int skip) -> Tensor",
    foreseen="any",
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
    **_FLOATS,
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
    "shim::prelu_backward(Tensor grad_output, Tensor self, Tensor weight) -> Tensor",
    shape=lambda grad_output: grad_output.shape,
    dtype=lambda grad_output: grad_output.dtype,
    native="prelu_backward",
    **_SHIM,
)
def prelu_backward(xp, grad_output, self, weight):
    """The gradient of prelu by its input."""
    return xp.where(self > 0, grad_output, grad_output * weight)


def _glu_slope(g, self, dim):
    if alone_on_cuda(g, self):
        return shim.glu_backward(g, self, dim)
    a, b = self.chunk(2, dim)
    s = b.sigmoid()
    return torch.cat([g * s, g * a * s * (1 - s)], dim)


@op(
    "shim::glu(Tensor self, int dim) -> Tensor",
    shape=lambda self, dim: _halved(self.shape, dim),
    dtype=lambda self: self.dtype,
    native="glu_of",
    gradient_name="GluBackward0",
    grad={"self": _glu_slope},
    **_FLOATS,
)
def glu(xp, self, dim):
    """a * sigmoid(b) of the halves a and b along ``dim``."""
    a, b = xp.split(self, 2, axis=dim)
    return a / (1 + xp.exp(-b))


def _halved(shape, dim):
    shape = list(shape)
    shape[dim] //= 2
    return tuple(shape)


@op(
    "shim::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor",
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    native="glu_backward",
    **_FLOATS,
)
def glu_backward(xp, grad_output, self, dim):
    """The gradient of glu by its input."""
    a, b = xp.split(self, 2, axis=dim)
    s = 1 / (1 + xp.exp(-b))
    return xp.concatenate([grad_output * s, grad_output * a * s * (1 - s)], axis=dim)


@op(
    "shim::renorm_factor(Tensor norm, float maxnorm) -> Tensor",
    shape=lambda norm: norm.shape,
    dtype=lambda norm: norm.dtype,
    native="renorm_factor",
    grad={"norm": lambda g, norm, maxnorm: torch.where(norm > maxnorm, -g * maxnorm / (norm + 1e-7).square(), 0.0)},
    **_SHIM,
)
def renorm_factor(xp, norm, maxnorm):
    """What a part of this norm is multiplied by."""
    return xp.where(norm > maxnorm, maxnorm / (norm + norm.dtype.type(1e-7)), norm.dtype.type(1)).astype(norm.dtype)


@op(
    "shim::softmax_backward(Tensor grad_output, Tensor result, int dim, bool log) -> Tensor",
    shape=lambda result: result.shape,
    dtype=lambda result: result.dtype,
    native="softmax_backward",
    **_FLOATS,
)
def softmax_backward(xp, grad_output, result, dim, log):
    """The gradient of softmax, or of log_softmax, from its result."""
    if log:
        return grad_output - xp.exp(result) * grad_output.sum(axis=dim, keepdims=True)
    return result * (grad_output - (grad_output * result).sum(axis=dim, keepdims=True))
