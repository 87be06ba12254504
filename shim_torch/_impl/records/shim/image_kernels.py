"""Operators of our own (``torch.ops.shim``) for images on the CPU, one kernel each: means over windows, norms over channels.

What they serve calls them where nobody looks on (``_core.unseen``); bodies are their references. Gradients of gradients are
those of the same formulas in tensor operations.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import flat
from shim_torch._impl.table.calls import shim
from shim_torch._impl.table.formats import format_of_strides, in_format, suggested_format
from shim_torch._impl.table.record import op
from shim_torch._impl.table.rules import accumulation_dtype

_SHIM = {"function": False}


# --- means over windows ---------------------------------------------------------------------------------------------


def _counts(xp: Any, size: int, out: int, kernel: int, stride: int, padding: int, include_pad: bool) -> Any:
    """Which places of a dim each window covers (out, size), and how many it counts (out,)."""
    start = xp.arange(out) * stride - padding
    end = xp.minimum(start + kernel, size + padding)
    first, last = xp.maximum(start, 0), xp.minimum(end, size)
    at = xp.arange(size)
    return (at >= first[:, None]) & (at < last[:, None]), (end - start) if include_pad else (last - first)


def _window_means(xp: Any, sizes: Any, out: Any, settings: Any, include_pad: bool, divisor: int, dtype: Any) -> Any:
    """What each pixel gives to each window: (out height, height) and (out width, width)."""
    found = []
    for size, count, k, s, p in zip(sizes, out, *settings, strict=True):
        inside, counted = _counts(xp, size, count, k, s, p, include_pad)
        found.append(inside.astype(dtype) if divisor else inside.astype(dtype) / counted[:, None].astype(dtype))
    return found


def _out_sizes(self: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool) -> list[int]:
    found = []
    for size, k, s, p in zip(self.shape[-2:], kernel, stride, padding, strict=True):
        if s <= 0:
            raise RuntimeError("stride should not be zero")
        room = size + 2 * p - k
        out = (-(-room // s) if ceil_mode else room // s) + 1
        found.append(out - 1 if ceil_mode and (out - 1) * s >= size + p else out)
    return found


def _mean_pool_slope(
    g: Any, self_shape: Any, self_strides: Any, kernel: Any, stride: Any, padding: Any, include_pad: bool, divisor: int
) -> Any:
    slope = shim.mean_pool_backward(g, self_shape[-2:], kernel, stride, padding, include_pad, divisor)
    if slope.is_cuda:
        return slope
    wanted = format_of_strides(self_shape, self_strides)
    return slope.contiguous(memory_format=_core.contiguous_format if wanted is None else wanted)


@op(
    "shim::mean_pool(Tensor self, int[2] kernel, int[2] stride, int[2] padding, bool ceil_mode, bool include_pad, int divisor) -> Tensor",
    foreseen="floats",
    shape=lambda self, kernel, stride, padding, ceil_mode: (
        *self.shape[:-2],
        *_out_sizes(self, kernel, stride, padding, ceil_mode),
    ),
    dtype=lambda self: self.dtype,
    native="mean_pool",
    channels_last="kept",
    grad={"self": flat(_mean_pool_slope)},
    **_SHIM,
)
def mean_pool(xp, self, kernel, stride, padding, ceil_mode, include_pad, divisor):
    """Means over windows of the last two dims; padding counts with ``include_pad``, ``divisor`` stands for the count unless 0."""
    out = _out_sizes(self, kernel, stride, padding, ceil_mode)
    rows, cols = _window_means(xp, self.shape[-2:], out, (kernel, stride, padding), include_pad, divisor, self.dtype)
    total = xp.matmul(xp.matmul(rows, self), cols.T)
    return total / self.dtype.type(divisor) if divisor else total


@op(
    "shim::mean_pool_backward(Tensor grad_output, int[2] size, int[2] kernel, int[2] stride, int[2] padding, bool include_pad, int divisor) -> Tensor",
    foreseen="floats",
    shape=lambda grad_output, size: (*grad_output.shape[:-2], *size),
    dtype=lambda grad_output: grad_output.dtype,
    native="mean_pool_backward",
    grad={
        "grad_output": lambda g, grad_output_shape, kernel, stride, padding, include_pad, divisor: _same_windows(
            g, grad_output_shape, kernel, stride, padding, include_pad, divisor
        )
    },
    **_SHIM,
)
def mean_pool_backward(xp, grad_output, size, kernel, stride, padding, include_pad, divisor):
    """The gradient of ``mean_pool`` by an input whose last two dims are ``size``."""
    rows, cols = _window_means(
        xp, size, grad_output.shape[-2:], (kernel, stride, padding), include_pad, divisor, grad_output.dtype
    )
    total = xp.matmul(xp.matmul(rows.T, grad_output), cols)
    return total / grad_output.dtype.type(divisor) if divisor else total


def _same_windows(g, shape, window, stride, padding, include_pad, divisor):
    """``mean_pool`` of g, with as many windows as ``shape`` says: in ceil mode or not."""
    floor = _out_sizes(g, window, stride, padding, False)
    return shim.mean_pool(g, window, stride, padding, list(shape[-2:]) != floor, include_pad, divisor)


# --- norms over channels ----------------------------------------------------------------------------------------------


def _along(t: Any, ndim: int) -> Any:
    return t.reshape(1, -1, *[1] * (ndim - 2))


def _by_steps(g, input, weight, mean, variance, eps, of_batch):
    """The three gradients in tensor operations, from the input, so that they can be differentiated."""
    dims = [d for d in range(input.dim()) if d != 1]
    x, dy = (t.to(accumulation_dtype(t.dtype)) for t in (input, g))
    if of_batch:
        mean = x.mean(dims)
        variance = (x - _along(mean, x.dim())).square().mean(dims)
    rstd = _along((variance + eps).rsqrt(), x.dim())
    normal = (x - _along(mean, x.dim())) * rstd
    dn = dy if weight is None else dy * _along(weight.to(dy.dtype), x.dim())
    dx = dn - dn.mean(dims, True) - normal * (dn * normal).mean(dims, True) if of_batch else dn
    return (dx * rstd).to(input.dtype), (dy * normal).sum(dims), dy.sum(dims)


def _grads(g, input, weight, mean, variance, eps, of_batch):
    compute = _by_steps if _core.is_grad_enabled() else shim.channel_norm_backward
    dx, dw, db = compute(g, input, weight, mean, variance, eps, of_batch)
    return in_format(dx, suggested_format([input])), dw, db


def _statistics(mean: Any, variance: Any, of_batch: bool, result1: Any, result2: Any) -> tuple[Any, Any]:
    return (result1, result2) if of_batch else (mean, variance)


def _all_grads(g, input, weight, mean, variance, of_batch, result1, result2, eps):
    used = _statistics(mean, variance, of_batch, result1, result2)
    dx, dw, db = _grads(g, input, weight, *used, eps, of_batch)
    return dx, (dw if weight is None else dw.to(weight.dtype)), (db if weight is None else db.to(weight.dtype))


def _input_grad(g, input, weight, mean, variance, of_batch, result1, result2, eps):
    return _grads(g, input, weight, *_statistics(mean, variance, of_batch, result1, result2), eps, of_batch)[0]


def _weight_grad(g, input, weight, mean, variance, of_batch, result1, result2, eps):
    used = _statistics(mean, variance, of_batch, result1, result2)
    return _grads(g, input, weight, *used, eps, of_batch)[1].to(weight.dtype)


def _order_of_images(input):
    last = input.dim() > 3 and _core.suggest_memory_format(input) != _core.contiguous_format
    return ((0, *range(2, input.dim()), 1) if last else None, None, None)


@op(
    "shim::channel_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? mean, Tensor? variance, bool of_batch, float eps) -> (Tensor, Tensor, Tensor)",
    foreseen="floats",
    shape=lambda input, of_batch: [input.shape, *[(input.shape[1] if of_batch else 0,)] * 2],
    dtype=lambda input: (accumulation_dtype(input.dtype), [input.dtype, *[accumulation_dtype(input.dtype)] * 2]),
    order=_order_of_images,
    native="channel_norm",
    gradient_name="NativeBatchNormBackward0",
    differentiable=(0,),
    grad={
        "input": _input_grad,
        "weight": _weight_grad,
        "bias": lambda g, bias_dtype: g.sum([d for d in range(g.dim()) if d != 1]).to(bias_dtype),
    },
    fused={"input, weight, bias": _all_grads},
    **_SHIM,
)
def channel_norm(xp, input, weight, bias, mean, variance, of_batch, eps):
    """(input - mean) / sqrt(variance + eps) * weight + bias a channel (dim 1), with the batch's statistics (``of_batch``)
    or the given ones; and the batch's statistics, (0,) without it: results that are arguments would be no step of a program."""
    axes = tuple(d for d in range(input.ndim) if d != 1)
    shape = (1, -1, *[1] * (input.ndim - 2))
    if of_batch:
        mean, variance = input.mean(axis=axes), input.var(axis=axes)
    y = (input - mean.reshape(shape)) / xp.sqrt(variance.reshape(shape) + input.dtype.type(eps))
    y = y if weight is None else y * weight.reshape(shape)
    kept = slice(None if of_batch else 0)
    return y if bias is None else y + bias.reshape(shape), mean[kept], variance[kept]


@op(
    "shim::channel_norm_backward(Tensor grad_output, Tensor input, Tensor? weight, Tensor mean, Tensor variance, float eps, bool of_batch) -> (Tensor, Tensor, Tensor)",
    foreseen="floats",
    shape=lambda input: [input.shape, (input.shape[1],), (input.shape[1],)],
    dtype=lambda input: (accumulation_dtype(input.dtype), [input.dtype, *[accumulation_dtype(input.dtype)] * 2]),
    order=_order_of_images,
    native="channel_norm_backward",
    **_SHIM,
)
def channel_norm_backward(xp, grad_output, input, weight, mean, variance, eps, of_batch):
    """The gradients of ``channel_norm`` by input, weight and bias."""
    axes = tuple(d for d in range(input.ndim) if d != 1)
    shape = (1, -1, *[1] * (input.ndim - 2))
    rstd = 1 / xp.sqrt(variance.reshape(shape) + input.dtype.type(eps))
    normal = (input - mean.reshape(shape)) * rstd
    dn = grad_output if weight is None else grad_output * weight.reshape(shape)
    dx = dn
    if of_batch:
        dx = dn - dn.mean(axis=axes, keepdims=True) - normal * (dn * normal).mean(axis=axes, keepdims=True)
    return dx * rstd, (grad_output * normal).sum(axis=axes), grad_output.sum(axis=axes)
