"""Batch, group and RMS normalization: gradients as operators, and the parts that statistics over several devices are made of."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.norm_statistics import traced_statistics
from shim_torch._impl.table.aten_declare import aten
from shim_torch._impl.table.calls import aten as ops
from shim_torch._impl.table.calls import torch


def _channels(x: Any, value: Any) -> Any:
    """A vector of channels beside x (N, C, ...)."""
    return None if value is None else value.reshape([1, -1] + [1] * (x.dim() - 2))


def _others(x: Any) -> list[int]:
    return [d for d in range(x.dim()) if d != 1]


@aten("native_batch_norm_backward")
def native_batch_norm_backward(
    g: Any, x: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any, save_invstd: Any, train: bool, eps: float, mask: Any
) -> Any:  # fmt: skip
    """The gradients of batch normalization by input (N, C, *), weight (C,) and bias (C,), None where the mask is False.

    ``train``: by the statistics of the batch, which were saved; else by the running ones.
    """
    wide = _core.float64 if x.dtype == _core.float64 else _core.float32
    mean, invstd = (save_mean, save_invstd) if train else (running_mean, (running_var + eps).rsqrt())
    over = _others(x)
    if train:
        mean, invstd = traced_statistics(x.to(wide), _channels(x, mean.to(wide)), _channels(x, invstd.to(wide)), over)
        mean, invstd = mean.reshape(-1), invstd.reshape(-1)
    dy, centred = g.to(wide), (x.to(wide) - _channels(x, mean.to(wide))) * _channels(x, invstd.to(wide))
    grad_bias, grad_weight = dy.sum(over), (dy * centred).sum(over)
    grad = None
    if mask[0]:
        count = x.numel() // x.shape[1]
        if train:
            dy = dy - (_channels(x, grad_bias) + centred * _channels(x, grad_weight)) / count
        scale = invstd.to(wide) if weight is None else invstd.to(wide) * weight.to(wide)
        grad = (dy * _channels(x, scale)).to(x.dtype)
    kept = wide if weight is None else weight.dtype
    return grad, grad_weight.to(kept) if mask[1] else None, grad_bias.to(kept) if mask[2] else None


@aten("batch_norm_backward")
def batch_norm_backward(g, x, weight, running_mean, running_var, save_mean, save_var, update, eps, mask, reserve):
    """The same under its newer name; ``reserve``, which cuDNN would keep, is not read."""
    return native_batch_norm_backward(g, x, weight, running_mean, running_var, save_mean, save_var, update, eps, mask)


@aten("_batch_norm_impl_index")
def _batch_norm_impl_index(x, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    results = ops.native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)
    return (*results, x.new_empty((0,), dtype=_core.uint8), 0)


@aten("_batch_norm_impl_index_backward")
def _batch_norm_impl_index_backward(
    index, x, g, weight, running_mean, running_var, save_mean, save_var, train, eps, mask, reserved
):
    return native_batch_norm_backward(g, x, weight, running_mean, running_var, save_mean, save_var, train, eps, mask)


@aten("native_group_norm_backward")
def native_group_norm_backward(g, x, mean, rstd, weight, n, c, hxw, group, mask):
    """The input (n, c, ...) has hxw elements a channel; mean and rstd are (n, group)."""
    if group <= 0:
        raise RuntimeError(f"Expected number of groups to be greater than 0, but got num_groups={group}")
    wide = _core.float64 if x.dtype == _core.float64 else _core.float32
    rows = x.to(wide).reshape(n, group, c // group, hxw)
    dy = g.to(wide).reshape(n, group, c // group, hxw)
    mean, rstd = (t.to(wide).reshape(n, group, 1, 1) for t in (mean, rstd))
    mean, rstd = traced_statistics(rows, mean, rstd, [2, 3])
    centred = (rows - mean) * rstd
    kept = x.dtype if weight is None else weight.dtype
    grad = None
    if mask[0]:
        scaled = dy if weight is None else dy * weight.to(wide).reshape(1, group, c // group, 1)
        count = hxw * (c // group)
        one = scaled.sum((2, 3), keepdim=True)
        two = (scaled * centred).sum((2, 3), keepdim=True)
        grad = ((scaled - (one + centred * two) / count) * rstd).reshape(x.shape).to(x.dtype)
    grad_weight = (dy * centred).sum((0, 3)).reshape(c).to(kept) if mask[1] else None
    return grad, grad_weight, dy.sum((0, 3)).reshape(c).to(kept) if mask[2] else None


@aten("_fused_rms_norm_backward")
def _fused_rms_norm_backward(g, x, normalized_shape, rstd, weight, mask):
    wide = _core.float64 if x.dtype == _core.float64 else _core.float32
    inner = list(range(x.dim() - len(normalized_shape), x.dim()))
    outer = list(range(x.dim() - len(normalized_shape)))
    rstd = traced_statistics(x.to(wide), None, rstd.to(wide), inner)[1]
    dy, scaled = g.to(wide), x.to(wide) * rstd
    grad = None
    if mask[0]:
        weighted = dy if weight is None else dy * weight.to(wide)
        grad = ((weighted - scaled * (weighted * scaled).mean(inner, keepdim=True)) * rstd).to(x.dtype)
    if not mask[1] or weight is None:
        return grad, None
    product = dy * scaled
    return grad, (product.sum(outer) if outer else product).to(weight.dtype)


# --- statistics of one process, and of several together (SyncBatchNorm) ---------------------------------------------------


@aten("batch_norm_stats", public=True)
def batch_norm_stats(x, eps):
    """The mean and 1 / std of every channel of x (N, C, ...), in float32 at least."""
    wide = _core.float64 if x.dtype == _core.float64 else _core.float32
    var, mean = torch.var_mean(x.to(wide), _others(x), correction=0)
    return mean, (var + eps).rsqrt()


@aten("batch_norm_elemt", public=True)
def batch_norm_elemt(x, weight, bias, mean, invstd, eps):
    """x (N, C, ...) normalized by given statistics."""
    made = (x.to(mean.dtype) - _channels(x, mean)) * _channels(x, invstd)
    made = made if weight is None else made * _channels(x, weight)
    return (made if bias is None else made + _channels(x, bias)).to(x.dtype)


@aten("batch_norm_gather_stats_with_counts", public=True)
def batch_norm_gather_stats_with_counts(x, mean, invstd, running_mean, running_var, momentum, eps, counts):
    """The mean and 1 / std of all processes' elements from each one's (processes, C); running statistics are written."""
    counts = counts.to(mean.dtype).reshape(-1, 1)
    total = counts.sum()
    whole = (mean * counts).sum(0) / total
    var = ((invstd**-2 - eps + (mean - whole) ** 2) * counts).sum(0) / total
    if running_mean is not None:
        running_mean.mul_(1 - momentum).add_(whole.to(running_mean.dtype), alpha=momentum)
    if running_var is not None:
        running_var.mul_(1 - momentum).add_((var * total / (total - 1)).to(running_var.dtype), alpha=momentum)
    return whole, (var + eps).rsqrt()


@aten("batch_norm_gather_stats", public=True)
def batch_norm_gather_stats(x, mean, invstd, running_mean, running_var, momentum, eps, count):
    """Mean and inverse deviation of the batches of several devices, all of ``count`` elements a channel.

    The running statistics are updated.
    """
    counts = mean.new_full((mean.shape[0],), count)
    return batch_norm_gather_stats_with_counts(x, mean, invstd, running_mean, running_var, momentum, eps, counts)


@aten("batch_norm_backward_reduce", public=True)
def batch_norm_backward_reduce(g, x, mean, invstd, weight, input_g, weight_g, bias_g):
    """Sums over (N, ...) of the gradient, of it times the centred input, and the gradients of weight and bias."""
    dy = g.to(mean.dtype)
    sum_dy = dy.sum(_others(x))
    sum_dy_xmu = (dy * (x.to(mean.dtype) - _channels(x, mean))).sum(_others(x))
    kept = mean.dtype if weight is None else weight.dtype
    grad_weight = (sum_dy_xmu * invstd).to(kept) if weight_g else None
    return (
        sum_dy if input_g else None,
        sum_dy_xmu if input_g else None,
        grad_weight,
        sum_dy.to(kept) if bias_g else None,
    )


@aten("batch_norm_backward_elemt", public=True)
def batch_norm_backward_elemt(g, x, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    """The gradient of the input (N, C, ...), from the sums of all processes, which have ``count`` elements each."""
    total = count.sum().to(mean.dtype)
    centred = x.to(mean.dtype) - _channels(x, mean)
    scale = invstd if weight is None else invstd * weight.to(mean.dtype)
    inner = g.to(mean.dtype) - _channels(x, sum_dy / total) - centred * _channels(x, invstd**2 * sum_dy_xmu / total)
    return (inner * _channels(x, scale)).to(x.dtype)
