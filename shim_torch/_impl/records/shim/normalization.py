"""Norms over the rest of a row or a group (``torch.ops.shim``) that are one CUDA kernel; bodies are their references."""

from __future__ import annotations

import math

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import widened
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import accumulation_dtype

_SHIM = {"function": False}


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
    return shim.norm_backward(g.contiguous(), input, weight, mean, rstd, *arguments)


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
    foreseen="floats",
    shape=lambda input, cols: [input.shape, *[(math.prod(input.shape) // cols,)] * 2],
    dtype=lambda input: (accumulation_dtype(input.dtype), [input.dtype, *[accumulation_dtype(input.dtype)] * 2]),
    native="norm",
    differentiable=(0,),
    grad={"input": _norm_input, "weight": _norm_weight, "bias": _norm_bias},
    fused={"input, weight, bias": _norm_all, "input, weight": _norm_two},
    **_SHIM,
    autocast="float32_cuda",
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
    foreseen="floats",
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
