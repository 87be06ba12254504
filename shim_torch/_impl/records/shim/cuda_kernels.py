"""Operators of our own (``torch.ops.shim``) that are one CUDA kernel where PyTorch's names are several; bodies are their references.

What they serve calls them on CUDA only, with ``kernel``. Gradients of gradients are those of the same formulas in tensor operations.
"""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import (
    binary_cross_entropies,
    logit_cross_entropies,
    shim,
    widened,
)
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import accumulation_dtype

_SHIM = {"function": False}


# --- dropout ------------------------------------------------------------------------------------------------------------


@op(
    "shim::dropout(Tensor input, float p, int seed, int start) -> (Tensor, Tensor)",
    shape=lambda input: [input.shape, input.shape],
    dtype=lambda input: (input.dtype, [input.dtype, _core.bool]),
    native="cuda_dropout",
    differentiable=(0,),
    grad={"input": lambda g, p, result1: shim().masked_scale(g, result1, 1 / (1 - p))},
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
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    keep=("mask",),
    native="masked_scale",
    grad={"self": lambda g, mask, scale: shim().masked_scale(g, mask, scale)},
    **_SHIM,
)
def masked_scale(xp, self, mask, scale):
    """self * scale where the mask is true, else 0."""
    return xp.where(mask, self * self.dtype.type(scale), self.dtype.type(0))


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


_SLOPES = {
    "leaky_relu_backward": lambda xp, x, p, q, r: xp.where(x > 0, 1, p),
    "elu_backward": lambda xp, x, p, q, r: xp.where(x > 0, q, p * q * r * xp.exp(xp.minimum(x, 0) * r)),
    "softplus_backward": lambda xp, x, p, q, r: xp.where(x * p > q, 1, 1 / (1 + xp.exp(-x * p))),
    "hardtanh_backward": lambda xp, x, p, q, r: (x > p) & (x < q),
    "hardswish_backward": lambda xp, x, p, q, r: xp.where(x < -3, 0, xp.where(x > 3, 1, x / 3 + 0.5)),
    "hardsigmoid_backward": lambda xp, x, p, q, r: ((x > -3) & (x < 3)) / 6,
    "log_sigmoid_backward": lambda xp, x, p, q, r: 1 / (1 + xp.exp(x)),
}


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
    ``_SLOPES``."""
    g, x = grad_output, saved
    if name in _SLOPES:
        return g * _SLOPES[name](xp, x, p, q, r).astype(x.dtype)
    if name == "relu_backward":
        return xp.where(x <= 0, g.dtype.type(0), g)
    if name in ("sigmoid_backward", "tanh_backward"):
        return g * (x * (1 - x) if name == "sigmoid_backward" else 1 - x * x)
    if name == "silu_backward":
        s = 1 / (1 + xp.exp(-x))
        return g * s * (1 + x * (1 - s))
    if name == "gelu_tanh_backward":
        c = math.sqrt(2 / math.pi)
        t = xp.tanh(c * (x + 0.044715 * x * x * x))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))
    if name == "mish_backward":
        e = xp.exp(xp.minimum(x, 20))
        t = e * (e + 2) / (e * (e + 2) + 2)
        return xp.where(x > 20, g, g * (t + x * (1 - t * t) / (1 + xp.exp(-x))))
    from shim_torch._impl.arrays.special import special

    cdf = 0.5 * (1 + special(xp, "erf")(x * x.dtype.type(1 / math.sqrt(2))))
    return g * (cdf + x * xp.exp(-0.5 * x * x) * x.dtype.type(1 / math.sqrt(2 * math.pi)))


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


# --- cross entropy ----------------------------------------------------------------------------------------------------------


def _entropy_grad(g0, g1, target, reduction, result1, result2, result3):
    if g1 is None and not _core.is_grad_enabled():
        return shim().cross_entropy_backward(g0, result1, target, result2, result3, reduction)
    p = widened(result1).exp()
    found: Any = 0
    if g0 is not None:
        hot = _core.empty_tensor(p.shape, p.dtype, p.device).zero_()
        hot.scatter_(1, target.unsqueeze(1).clamp(0, p.size(1) - 1), 1.0)
        scale = (g0 / result3 if reduction == 1 else g0) * result2
        found = (p - hot) * (scale.unsqueeze(1) * (result2 != 0).unsqueeze(1))
    if g1 is not None:
        found = found + (g1 - p * g1.sum(1, keepdim=True))
    return found.to(result1.dtype)


@op(
    "shim::cross_entropy(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index, bool keep) -> (Tensor, Tensor, Tensor, Tensor)",
    shape=lambda self, reduction, keep: [
        (self.shape[0],) if reduction == 0 else (),
        self.shape if keep else (0,),
        (self.shape[0],),
        (),
    ],
    dtype=lambda self: (
        accumulation_dtype(self.dtype),
        [self.dtype, self.dtype, *[accumulation_dtype(self.dtype)] * 2],
    ),
    keep=("target",),
    native="cross_entropy",
    differentiable=(0, 1),
    grad={"self": _entropy_grad},
    **_SHIM,
)
def cross_entropy(xp, self, target, weight, reduction, ignore_index, keep):
    """The loss of logits (rows, classes) for int64 targets (rows,); with ``keep``, which gradients need, log_softmax of the
    logits; per row the factor (the target's weight, 0 where it is ignored); the factors' sum."""
    top = self.max(axis=1, keepdims=True)
    log_p = self - top - xp.log(xp.exp(self - top).sum(axis=1, keepdims=True))
    valid = target != ignore_index
    safe = xp.where(valid, target, 0)
    factors = (xp.ones(len(safe), self.dtype) if weight is None else weight[safe]) * valid
    losses = -log_p[xp.arange(len(safe)), safe] * factors
    total = factors.sum()
    loss = losses if reduction == 0 else losses.sum() / total if reduction == 1 else losses.sum()
    return loss, log_p if keep else log_p[:0, 0], factors, total


@op(
    "shim::cross_entropy_backward(Tensor grad_output, Tensor log_p, Tensor target, Tensor factors, Tensor total, int reduction) -> Tensor",
    shape=lambda log_p: log_p.shape,
    dtype=lambda log_p: (accumulation_dtype(log_p.dtype), log_p.dtype),
    keep=("target",),
    native="cross_entropy_backward",
    **_SHIM,
)
def cross_entropy_backward(xp, grad_output, log_p, target, factors, total, reduction):
    """The gradient of ``cross_entropy`` by its logits."""
    scale = grad_output * factors / (total if reduction == 1 else 1)
    p = xp.exp(log_p)
    rows = xp.arange(len(target))
    p[rows, xp.where(factors != 0, target, 0)] -= 1
    return p * scale[:, None]


# --- losses of two tensors ----------------------------------------------------------------------------------------------------


def _unreduced_loss(xp, self, target, name, setting):
    if name == "bce":
        return binary_cross_entropies(xp, self, target)
    if name == "bce_with_logits":
        return logit_cross_entropies(xp, self, target)
    d = self - target
    m = abs(d)
    if name == "mse":
        return d * d
    if name == "l1":
        return m
    if name == "smooth_l1":
        return xp.where(m < setting, 0.5 * m * m / setting, m - 0.5 * setting)
    return xp.where(m <= setting, 0.5 * m * m, setting * (m - 0.5 * setting))


def _loss_slope(xp, self, target, name, setting):
    if name == "bce_with_logits":
        return 1 / (1 + xp.exp(-self)) - target
    d = self - target
    if name == "bce":  # at 0 and 1, where there is no slope, PyTorch divides by 1e-12
        spread = (1 - self) * self
        return d / (spread + (1e-12 - spread) * (spread < 1e-12))
    if name == "mse":
        return 2 * d
    unknown = d != d  # no number: of magnitudes there is no slope there, of the others none is known
    sign = xp.sign(xp.where(unknown, 0.0, d))
    if name == "l1":
        return sign
    if name == "smooth_l1":
        return xp.where((abs(d) < setting) | unknown, d / setting, sign)
    return xp.where((abs(d) <= setting) | unknown, d, setting * sign)


def _loss_grad(g, self, target, name, mean, setting):
    if not _core.is_grad_enabled():
        return shim().pointwise_loss_backward(g, self, target, name, mean, setting)
    import shim_torch

    return _loss_slope(shim_torch, self, target, name, setting) * (g / self.numel() if mean else g)


def _loss_target_grad(g, self, target, name, mean, setting):
    if name not in ("bce", "bce_with_logits"):
        return -_loss_grad(g, self, target, name, mean, setting)
    slope = -self if name == "bce_with_logits" else (-self).log1p().clamp(min=-100) - self.log().clamp(min=-100)
    return slope * (g / self.numel() if mean else g)


@op(
    "shim::pointwise_loss(Tensor self, Tensor target, str name, bool mean, float setting) -> Tensor",
    shape=lambda: (),
    dtype=lambda self: self.dtype,
    native="pointwise_loss",
    grad={"self": _loss_grad, "target": _loss_target_grad},
    **_SHIM,
)
def pointwise_loss(xp, self, target, name, mean, setting):
    """The sum or the mean of a loss of two tensors of one shape: "mse", "l1", "smooth_l1", "huber", "bce" or "bce_with_logits".

    ``setting`` is the bound between square and linear: beta of "smooth_l1", delta of "huber"."""
    each = _unreduced_loss(xp, self, target, name, setting)
    return each.mean() if mean else each.sum()


@op(
    "shim::pointwise_loss_backward(Tensor grad_output, Tensor self, Tensor target, str name, bool mean, float setting) -> Tensor",
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    native="pointwise_loss_backward",
    **_SHIM,
)
def pointwise_loss_backward(xp, grad_output, self, target, name, mean, setting):
    """The gradient of ``pointwise_loss`` by self."""
    return _loss_slope(xp, self, target, name, setting) * (grad_output / self.size if mean else grad_output)


# --- norms ----------------------------------------------------------------------------------------------------------------------


def _per_row(t, cols, span, groups):
    """A weight as (1 or groups, cols): one value a column of each row of a sample."""
    return t.reshape(1, cols) if not span else t.reshape(groups, cols // span).repeat_interleave(span, 1)


def _norm_by_steps(g, input, weight, mean, rstd, cols, span, groups, centred, wants):
    """Gradients in tensor operations, from the input alone, so that they can be differentiated."""
    x, dy = widened(input).reshape(-1, groups, cols), widened(g).reshape(-1, groups, cols)
    eps = _variance_left(input, mean, rstd, cols, centred).reshape(-1, groups, 1)
    centre = x - x.mean(-1, True) if centred else x
    scale = ((centre * centre).mean(-1, True) + eps).rsqrt()
    normal = centre * scale
    dn = dy if weight is None else dy * _per_row(widened(weight), cols, span, groups)
    dx = dn - normal * (dn * normal).mean(-1, True)
    dx = (dx - dn.mean(-1, True) if centred else dx) * scale
    found = [dx.reshape(input.shape).to(input.dtype)]
    for wanted, sums in zip(wants, (dy * normal, dy), strict=True):
        if wanted:
            sums = sums.sum(0) if span else sums.sum((0, 1))
            found.append((sums.reshape(-1, span).sum(1) if span else sums).to(input.dtype))
        else:
            found.append(input.new_empty((0,)))
    return found


def _variance_left(input, mean, rstd, cols, centred):
    """eps, as rstd has it."""
    x = widened(input.detach()).reshape(-1, cols)
    centre = x - mean.reshape(-1, 1) if centred else x
    return rstd.reshape(-1).pow(-2) - (centre * centre).mean(1)


def _norm_grads(g, input, weight, mean, rstd, cols, span, groups, centred, of_weight, of_bias):
    if _core.is_grad_enabled():
        return _norm_by_steps(g, input, weight, mean, rstd, cols, span, groups, centred, (of_weight, of_bias))
    arguments = (cols, span, groups, centred, of_weight, of_bias)
    return shim().norm_backward(g.contiguous(), input, weight, mean, rstd, *arguments)


def _norm_input(g, input, weight, result1, result2, cols, span, groups, centred):
    return _norm_grads(g, input, weight, result1, result2, cols, span, groups, centred, False, False)[0]


def _norm_weight(g, input, weight, result1, result2, cols, span, groups, centred):
    return _norm_grads(g, input, weight, result1, result2, cols, span, groups, centred, True, False)[1].reshape(
        weight.shape
    )


def _norm_bias(g, input, bias_shape, result1, result2, cols, span, groups, centred):
    return _norm_grads(g, input, None, result1, result2, cols, span, groups, centred, False, True)[2].reshape(
        bias_shape
    )


def _norm_two(g, input, weight, result1, result2, cols, span, groups, centred):
    found = _norm_grads(g, input, weight, result1, result2, cols, span, groups, centred, True, False)
    return found[0], found[1].reshape(weight.shape)


def _norm_all(g, input, weight, bias_shape, result1, result2, cols, span, groups, centred):
    found = _norm_grads(g, input, weight, result1, result2, cols, span, groups, centred, True, True)
    return found[0], found[1].reshape(weight.shape), found[2].reshape(bias_shape)


@op(
    "shim::norm(Tensor input, Tensor? weight, Tensor? bias, int cols, int span, int groups, bool centred, float eps) -> (Tensor, Tensor, Tensor)",
    shape=lambda input, cols: [input.shape, *[(math.prod(input.shape) // cols,)] * 2],
    dtype=lambda input: (accumulation_dtype(input.dtype), [input.dtype, *[accumulation_dtype(input.dtype)] * 2]),
    native="norm",
    differentiable=(0,),
    grad={"input": _norm_input, "weight": _norm_weight, "bias": _norm_bias},
    fused={"input, weight, bias": _norm_all, "input, weight": _norm_two},
    **_SHIM,
)
def norm(xp, input, weight, bias, cols, span, groups, centred, eps):
    """Rows of ``cols`` elements to variance 1 and, where ``centred``, mean 0; times weight plus bias, one a column, or with ``span``
    one a channel of that many columns, ``groups`` rows being a sample. Also the means and the reciprocal deviations."""
    x = input.reshape(-1, cols)
    mean = x.mean(axis=1) if centred else xp.zeros(len(x), x.dtype)
    y = x - mean[:, None]
    rstd = 1 / xp.sqrt((y * y).mean(axis=1) + eps)
    y = y * rstd[:, None]
    for t, scales in ((weight, True), (bias, False)):
        if t is not None:
            t = t.reshape(1, cols) if not span else xp.repeat(t.reshape(groups, cols // span), span, axis=1)
            t = xp.tile(t, (len(x) // len(t), 1)) if span else t
            y = y * t if scales else y + t
    return y.reshape(input.shape), mean, rstd


@op(
    "shim::norm_backward(Tensor grad_output, Tensor input, Tensor? weight, Tensor mean, Tensor rstd, int cols, int span, int groups, bool centred, bool of_weight, bool of_bias) -> (Tensor, Tensor, Tensor)",
    shape=lambda input, cols, span, groups, of_weight, of_bias: [
        input.shape,
        *[((cols if not span else groups * cols // span) if wanted else 0,) for wanted in (of_weight, of_bias)],
    ],
    dtype=lambda input: (accumulation_dtype(input.dtype), [input.dtype] * 3),
    native="norm_backward",
    **_SHIM,
)
def norm_backward(xp, grad_output, input, weight, mean, rstd, cols, span, groups, centred, of_weight, of_bias):
    """The gradients of ``norm`` by input, weight and bias; empty where not asked for."""
    x, g = input.reshape(-1, cols), grad_output.reshape(-1, cols)
    normal = (x - (mean[:, None] if centred else 0)) * rstd[:, None]
    dn = g
    if weight is not None:
        w = weight.reshape(1, cols) if not span else xp.repeat(weight.reshape(groups, cols // span), span, axis=1)
        dn = g * (xp.tile(w, (len(x) // len(w), 1)) if span else w)
    dx = dn - normal * (dn * normal).mean(axis=1, keepdims=True)
    if centred:
        dx = dx - dn.mean(axis=1, keepdims=True)
    found = [(dx * rstd[:, None]).reshape(input.shape)]
    for wanted, sums in ((of_weight, g * normal), (of_bias, g)):
        if wanted and span:
            found.append(sums.reshape(-1, groups * cols // span, span).sum(axis=(0, 2)))
        else:
            found.append(sums.sum(axis=0) if wanted else xp.empty((0,), x.dtype))
    return tuple(found)
