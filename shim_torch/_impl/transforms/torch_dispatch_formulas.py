"""Gradients as ``__torch_dispatch__`` sees them: by PyTorch's backward operators.

A formula of an operator's record is made of elementary operators, which run fast and have gradients of their own. Where a mode or
a subclass looks on, these take their place. They are written as the records' (``shim_torch._impl.table.record``); ``wanted`` says of each
input of a formula whether its gradient is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import reduced_count
from shim_torch._impl.table.rules import wrap_dims
from shim_torch._ops import ops

aten = ops.aten
Formulas = dict[str, Callable[..., Any]]


def _mean(g: Any, self_shape: Any, dim: Any = None, keepdim: bool = False) -> Any:
    dims = wrap_dims(dim, len(self_shape))
    if not keepdim and len(dims) < len(self_shape):  # expand alone brings all of them back
        for d in dims:
            g = g.unsqueeze(d)
    return aten.div.Scalar(g.expand(self_shape), reduced_count(self_shape, dim))


def _embedding(
    g: Any, weight_shape: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    backward = aten.embedding_sparse_backward if sparse else aten.embedding_dense_backward
    return backward(g, indices, weight_shape[0], padding_idx, scale_grad_by_freq)


# operator -> its gradients, and how many of its results have one (-1: all)
FORMULAS: dict[str, tuple[Formulas, int]] = {}


def _of(name: str, results: int = -1, **grad: Callable[..., Any]) -> None:
    FORMULAS[name] = ({inputs.replace("__", ", "): formula for inputs, formula in grad.items()}, results)


_of("gelu", self=lambda g, self, approximate: aten.gelu_backward(g, self, approximate=approximate))
_of("sigmoid", self=lambda g, result: aten.sigmoid_backward(g, result))
_of("tanh", self=lambda g, result: aten.tanh_backward(g, result))
_of("relu", self=lambda g, result: aten.threshold_backward(g, result, 0))
_of("threshold", self=lambda g, self, threshold: aten.threshold_backward(g, self, threshold))
_of("silu", self=lambda g, self: aten.silu_backward(g, self))
_of("mish", self=lambda g, self: aten.mish_backward(g, self))
_of("elu", self=lambda g, self, alpha, scale, input_scale: aten.elu_backward(g, alpha, scale, input_scale, False, self))
_of("celu", self=lambda g, self, alpha: aten.elu_backward(g, alpha, 1, 1.0 / alpha, False, self))
_of("leaky_relu", self=lambda g, self, negative_slope: aten.leaky_relu_backward(g, self, negative_slope, False))
_of("hardtanh", self=lambda g, self, min_val, max_val: aten.hardtanh_backward(g, self, min_val, max_val))
_of("hardswish", self=lambda g, self: aten.hardswish_backward(g, self))
_of("hardsigmoid", self=lambda g, self: aten.hardsigmoid_backward(g, self))
_of("softplus", self=lambda g, self, beta, threshold: aten.softplus_backward(g, self, beta, threshold))
_of("softshrink", self=lambda g, self, lambd: aten.softshrink_backward(g, self, lambd))
_of("hardshrink", self=lambda g, self, lambd: aten.hardshrink_backward(g, self, lambd))
_of("log_sigmoid_forward", 1, self=lambda g, self, result1: aten.log_sigmoid_backward(g, self, result1))
_of("logit", self=lambda g, self, eps: aten.logit_backward(g, self, eps))
_of("glu", self=lambda g, self, dim: aten.glu_backward(g, self, dim))
_of("_prelu_kernel", self__weight=lambda g, self, weight: aten._prelu_kernel_backward(g, self, weight))

_of("_softmax", self=lambda g, result, dim, self_dtype: aten._softmax_backward_data(g, result, dim, self_dtype))
_of("_log_softmax", self=lambda g, result, dim, self_dtype: aten._log_softmax_backward_data(g, result, dim, self_dtype))

_of("mse_loss",
    self=lambda g, self, target, reduction: aten.mse_loss_backward(g, self, target, reduction),
    target=lambda g, self, target, reduction: aten.mse_loss_backward(g, target, self, reduction))  # fmt: skip
_of("smooth_l1_loss",
    self=lambda g, self, target, reduction, beta: aten.smooth_l1_loss_backward(g, self, target, reduction, beta),
    target=lambda g, self, target, reduction, beta: aten.smooth_l1_loss_backward(g, target, self, reduction, beta))  # fmt: skip
_of("huber_loss",
    self=lambda g, self, target, reduction, delta: aten.huber_loss_backward(g, self, target, reduction, delta),
    target=lambda g, self, target, reduction, delta: aten.huber_loss_backward(g, target, self, reduction, delta))  # fmt: skip
_of("binary_cross_entropy",
    self=lambda g, self, target, weight, reduction: aten.binary_cross_entropy_backward(g, self, target, weight, reduction))  # fmt: skip
_of(
    "soft_margin_loss",
    self=lambda g, self, target, reduction: aten.soft_margin_loss_backward(g, self, target, reduction),
)
_of("multi_margin_loss",
    self=lambda g, self, target, p, margin, weight, reduction: aten.multi_margin_loss_backward(
        g, self, target, p, margin, weight, reduction))  # fmt: skip
_of("nll_loss_forward", 1,
    self=lambda g, self, target, weight, reduction, ignore_index, result1: aten.nll_loss_backward(
        g, self, target, weight, reduction, ignore_index, result1))  # fmt: skip

_of("native_layer_norm", 1,
    input__weight__bias=lambda g, input, normalized_shape, result1, result2, weight, bias, wanted: aten.native_layer_norm_backward(
        g, input, normalized_shape, result1, result2, weight, bias, list(wanted)))  # fmt: skip
_of("native_group_norm",
    input__weight__bias=lambda g, input, result1, result2, weight, N, C, HxW, group, wanted: aten.native_group_norm_backward(
        g, input, result1, result2, weight, N, C, HxW, group, list(wanted)))  # fmt: skip
_of("native_batch_norm", 1,
    input__weight__bias=lambda g, input, weight, running_mean, running_var, result1, result2, training, eps, wanted:
        aten.native_batch_norm_backward(
            g, input, weight, running_mean, running_var, result1, result2, training, eps, list(wanted)))  # fmt: skip
_of("native_dropout", 1,
    input=lambda g, result1, p, train: aten.native_dropout_backward(
        g, result1, 0.0 if p == 1 else 1.0 if train is False else 1.0 / (1.0 - p)))  # fmt: skip

_of("max_pool2d_with_indices", 1,
    self=lambda g, self, kernel_size, stride, padding, dilation, ceil_mode, result1: aten.max_pool2d_with_indices_backward(
        g, self, kernel_size, stride, padding, dilation, ceil_mode, result1))  # fmt: skip
_of("max_pool3d_with_indices", 1,
    self=lambda g, self, kernel_size, stride, padding, dilation, ceil_mode, result1: aten.max_pool3d_with_indices_backward(
        g, self, kernel_size, stride, padding, dilation, ceil_mode, result1))  # fmt: skip
_of("avg_pool2d",
    self=lambda g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: aten.avg_pool2d_backward(
        g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))  # fmt: skip
_of("avg_pool3d",
    self=lambda g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override: aten.avg_pool3d_backward(
        g, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override))  # fmt: skip
_of("_adaptive_avg_pool2d", self=lambda g, self: aten._adaptive_avg_pool2d_backward(g, self))
_of("_adaptive_avg_pool3d", self=lambda g, self: aten._adaptive_avg_pool3d_backward(g, self))
_of("adaptive_max_pool2d", 1, self=lambda g, self, result1: aten.adaptive_max_pool2d_backward(g, self, result1))
_of("adaptive_max_pool3d", 1, self=lambda g, self, result1: aten.adaptive_max_pool3d_backward(g, self, result1))

_of("embedding", weight=_embedding)
_of("reflection_pad1d", self=lambda g, self, padding: aten.reflection_pad1d_backward(g, self, padding))
_of("reflection_pad2d", self=lambda g, self, padding: aten.reflection_pad2d_backward(g, self, padding))
_of("reflection_pad3d", self=lambda g, self, padding: aten.reflection_pad3d_backward(g, self, padding))
_of("replication_pad1d", self=lambda g, self, padding: aten.replication_pad1d_backward(g, self, padding))
_of("replication_pad2d", self=lambda g, self, padding: aten.replication_pad2d_backward(g, self, padding))
_of("replication_pad3d", self=lambda g, self, padding: aten.replication_pad3d_backward(g, self, padding))
_of("upsample_nearest1d",
    self=lambda g, self_shape, output_size, scales: aten.upsample_nearest1d_backward(g, output_size, self_shape, scales))  # fmt: skip
_of("upsample_nearest2d",
    self=lambda g, self_shape, output_size, scales_h, scales_w: aten.upsample_nearest2d_backward(
        g, output_size, self_shape, scales_h, scales_w))  # fmt: skip
_of("upsample_nearest3d",
    self=lambda g, self_shape, output_size, scales_d, scales_h, scales_w: aten.upsample_nearest3d_backward(
        g, output_size, self_shape, scales_d, scales_h, scales_w))  # fmt: skip
_of("upsample_linear1d",
    self=lambda g, self_shape, output_size, align_corners, scales: aten.upsample_linear1d_backward(
        g, output_size, self_shape, align_corners, scales))  # fmt: skip
_of("upsample_bilinear2d",
    self=lambda g, self_shape, output_size, align_corners, scales_h, scales_w: aten.upsample_bilinear2d_backward(
        g, output_size, self_shape, align_corners, scales_h, scales_w))  # fmt: skip
_of("upsample_bicubic2d",
    self=lambda g, self_shape, output_size, align_corners, scales_h, scales_w: aten.upsample_bicubic2d_backward(
        g, output_size, self_shape, align_corners, scales_h, scales_w))  # fmt: skip
_of("upsample_trilinear3d",
    self=lambda g, self_shape, output_size, align_corners, scales_d, scales_h, scales_w: aten.upsample_trilinear3d_backward(
        g, output_size, self_shape, align_corners, scales_d, scales_h, scales_w))  # fmt: skip
_of("grid_sampler_2d",
    input__grid=lambda g, input, grid, interpolation_mode, padding_mode, align_corners, wanted: aten.grid_sampler_2d_backward(
        g, input, grid, interpolation_mode, padding_mode, align_corners, list(wanted)))  # fmt: skip
_of("grid_sampler_3d",
    input__grid=lambda g, input, grid, interpolation_mode, padding_mode, align_corners, wanted: aten.grid_sampler_3d_backward(
        g, input, grid, interpolation_mode, padding_mode, align_corners, list(wanted)))  # fmt: skip
_of("_scaled_dot_product_flash_attention_for_cpu", 1,
    query__key__value=lambda g, query, key, value, result, result1, dropout_p, is_causal, attn_mask, scale:
        aten._scaled_dot_product_flash_attention_for_cpu_backward(
            g, query, key, value, result, result1, dropout_p, is_causal, attn_mask=attn_mask, scale=scale))  # fmt: skip

_of(
    "diagonal", self=lambda g, self_shape, offset, dim1, dim2: aten.diagonal_backward(g, self_shape, offset, dim1, dim2)
)
_of("mean", self=lambda g, self_shape: _mean(g, self_shape))
_of("mean.dim", self=_mean)


def prepare() -> None:
    """Gives the operators these formulas; runs once, when the first mode or class with a handler is there."""
    for full, (grad, results) in FORMULAS.items():
        name, _, overload = full.partition(".")
        if not _core._show_formulas(f"aten::{name}", overload, grad, results):
            raise RuntimeError(f"aten::{full}: there is no such operator")
