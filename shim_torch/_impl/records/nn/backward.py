"""Gradients that are operators of their own in ATen, and the native_* forms of dropout and normalisation."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import rows_added, tangents_wanted, widened
from shim_torch._impl.records.shared.norm_statistics import (
    check_one_dtype,
    has_row_kernel,
    row_norm,
    statistics_dtype,
    traced_statistics,
)
from shim_torch._impl.table.calls import aten, torch
from shim_torch._impl.table.record import composite, direct

_HIDDEN: dict[str, Any] = {"function": False, "method": False}


def _declare(schema: str, formula: Any, like: int = 0, **options: Any) -> None:
    """``formula(*arguments)`` computed in float32 where the tensors are narrower; the result has argument ``like``'s dtype."""

    def body(*bound: Any) -> Any:
        dtype = bound[like].dtype
        wide = [widened(b) if isinstance(b, _core.TensorBase) else b for b in bound]
        return formula(*wide).to(dtype)

    composite(schema, **{**_HIDDEN, **options})(body)


# PyTorch's words depend on whether it has generated the operator's history.
_GENERATED = ("_cdist_backward", "_pdist_backward", "_embedding_bag_backward")


def _refused(g: Any, name: str) -> Any:
    if tangents_wanted():
        raise NotImplementedError(f"Trying to use forward AD with aten::{name} that does not support it.")
    if name in _GENERATED:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")
    raise RuntimeError(f"derivative for aten::{name} is not implemented")


@direct(
    "shim::underived(Tensor gradient, Tensor given, str name) -> Tensor",
    grad={"gradient": _refused, "given": _refused},
    **_HIDDEN,
)
def underived(gradient, given, name):
    """The gradient itself, which cannot be differentiated again: ``name`` is the operator that would have to be."""
    return gradient.detach()


def _silu(g: Any, x: Any) -> Any:
    s = x.sigmoid()
    return g * s * (1 + x * (1 - s))


def _gelu(g: Any, x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        k = math.sqrt(2 / math.pi)
        inner = k * (x + 0.044715 * x * x * x)
        t = inner.tanh()
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x))
    cdf = 0.5 * (1 + (x * math.sqrt(0.5)).erf())
    return g * (cdf + x * (-0.5 * x * x).exp() / math.sqrt(2 * math.pi))


def _elu(g: Any, alpha: float, scale: float, input_scale: float, is_result: bool, x: Any) -> Any:
    low = (x + alpha * scale) * input_scale if is_result else alpha * scale * input_scale * (x * input_scale).exp()
    return g * low.where(x <= 0, _full(x, scale))


def _full(x: Any, value: float) -> Any:
    return x.new_full((), value)


def _hardsigmoid(g: Any, x: Any) -> Any:
    return (g / 6).masked_fill(((x > -3) & (x < 3)).logical_not(), 0)  # NaN too


def _hardswish(g: Any, x: Any) -> Any:
    return (g * (x / 3 + 0.5)).where(x < 3, g).masked_fill(x <= -3, 0)


def _softplus(g: Any, x: Any, beta: float, threshold: float) -> Any:
    z = (x * beta).exp()
    return g.where(x * beta > threshold, g * z / (z + 1))


def _mish(g: Any, x: Any) -> Any:
    s, t = x.sigmoid(), (1 + x.exp()).log().tanh()
    return g * (t + x * s * (1 - t * t))


def _glu(g: Any, x: Any, dim: int) -> Any:
    a, b = x.chunk(2, dim)
    s = b.sigmoid()
    return torch.cat([g * s, g * a * s * (1 - s)], dim)


def _logit(g: Any, x: Any, eps: float | None) -> Any:
    found = g / (x * (1 - x))
    if eps is None:
        return found.masked_fill((x < 0) | (x > 1), math.nan)
    return found.masked_fill((x < eps) | (x > 1 - eps), 0)


_declare("silu_backward(Tensor grad_output, Tensor self) -> Tensor", _silu)
_declare("gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor", _gelu)
_declare(
    "sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor",
    lambda g, y: g * ((1 - y) * y).conj(),
    pointwise=True,
)
_declare(
    "tanh_backward(Tensor grad_output, Tensor output) -> Tensor", lambda g, y: g * (1 - y * y).conj(), pointwise=True
)
_declare("threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor",
         lambda g, x, threshold: g.masked_fill(x <= threshold, 0), pointwise=True)  # fmt: skip
_declare("hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor",
         lambda g, x, low, high: g.masked_fill((x <= low) | (x >= high), 0))  # fmt: skip
_declare("leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
         lambda g, x, slope, self_is_result: g.where(x > 0, g * slope))  # fmt: skip
_declare(
    "elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor",
    _elu,
)
_declare("hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", _hardsigmoid)
_declare("hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", _hardswish)
_declare("softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor", _softplus)
_declare("mish_backward(Tensor grad_output, Tensor self) -> Tensor", _mish)
_declare("glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", _glu)
_declare("logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", _logit)
_declare(
    "log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor",
    lambda g, x, buffer: g * (-x).sigmoid(),
)


def _cast(t: Any, dtype: Any) -> Any:
    return t if t.dtype == dtype else t.to(dtype)


@composite(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    gradient_name="SoftmaxBackwardDataBackward0",
    method=False,
    refuses=(("bic", "softmax_backward_lastdim_kernel_impl"),),
    batching="along_dim",
)
def _softmax_backward_data(grad_output, output, dim, input_dtype):
    g, y = widened(grad_output), widened(output)
    return _cast(y * (g - (g * y).sum(dim, keepdim=True)), input_dtype)


@composite(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    gradient_name="LogSoftmaxBackwardDataBackward0",
    method=False,
    batching="along_dim",
)
def _log_softmax_backward_data(grad_output, output, dim, input_dtype):
    g, y = widened(grad_output), widened(output)
    return _cast(g - y.exp() * g.sum(dim, keepdim=True), input_dtype)


@composite(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    method=False,
    batching="random",
    nested="pointwise",
)
def native_dropout(input, p, train):
    """The values and the mask of those kept."""
    if input.numel() == 0:
        return input.clone(), torch.empty_like(input)
    if train is False or p == 0:
        return input.clone(), torch.ones_like(input, dtype=_core.bool)
    if p == 1:
        return torch.zeros_like(input), torch.zeros_like(input, dtype=_core.bool)
    mask = torch.empty_like(input, dtype=_core.bool).bernoulli_(1 - p)
    return input * mask.to(input.dtype).mul_(1 / (1 - p)), mask


@composite(
    "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
    **_HIDDEN,
    batching="pointwise",
    no_complex_gradient="native_dropout_backward",
    forward_error_name="native_dropout_backward",
)
def native_dropout_backward(grad_output, mask, scale):
    """The gradient of ``native_dropout``: ``grad_output`` · ``scale`` where ``mask`` is true, else 0."""
    return grad_output * (mask.to(grad_output.dtype) * scale)


@composite(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    **_HIDDEN,
)
def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    """The gradient of an embedding's weight: rows of ``grad_output`` summed by their index.

    Shapes:  grad_output (*, D), indices (*) -> (num_weights, D)
    The row ``padding_idx``, if not negative, gets none. ``scale_grad_by_freq`` divides by how often an index occurs.
    """
    flat, g = indices.reshape(-1), grad_output.reshape(-1, grad_output.size(-1))
    if scale_grad_by_freq:
        counts = flat.bincount(minlength=num_weights)
        g = g / counts[flat].unsqueeze(1).to(g.dtype)
    if padding_idx >= 0:
        g = g.masked_fill((flat == padding_idx).unsqueeze(1), 0)
    return rows_added(g.new_zeros((num_weights, g.size(1))), flat, g)


# --- normalisation --------------------------------------------------------------------------------------------------


@composite(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    gradient_name="NativeLayerNormBackward0",
    method=False,
    refuses=(("bic", "LayerNormKernelImpl"),),
)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """The normalised values, the means and 1 / standard deviations (float32 for half precisions)."""
    n, shape = len(normalized_shape), tuple(normalized_shape)
    check_one_dtype(input, weight, bias)
    dims = list(range(-n, 0))
    fits = (
        n and tuple(input.shape[-n:]) == shape and all(tuple(t.shape) == shape for t in (weight, bias) if t is not None)
    )
    if fits and has_row_kernel(input, weight, bias):
        y, mean, rstd = row_norm(input, weight, bias, math.prod(shape), 0, 1, True, eps)
        kept, lead = statistics_dtype(input, mean.dtype, weight, bias), (*input.shape[:-n], *[1] * n)
        return y, mean.detach().reshape(lead).to(kept), rstd.detach().reshape(lead).to(kept)
    y = aten.layer_norm(input, normalized_shape, weight, bias, eps)
    x = widened(input)
    mean = x.mean(dims, keepdim=True)
    rstd = ((x - mean).square().mean(dims, keepdim=True) + eps).rsqrt()
    kept = statistics_dtype(input, mean.dtype, weight, bias)
    return y, mean.detach().to(kept), rstd.detach().to(kept)


@composite(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    **_HIDDEN,
)
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    """The gradients of ``layer_norm`` by input, weight and bias, None where ``output_mask`` does not ask for one.

    ``mean`` and ``rstd`` are what ``native_layer_norm`` gives: of each row, with the normalised dims as 1.
    """
    g, x, w = widened(grad_out), widened(input), None if weight is None else widened(weight)
    k = len(normalized_shape)
    dims, lead = list(range(-k, 0)), list(range(x.dim() - k))
    mean, rstd = traced_statistics(x, mean, rstd, dims)
    normal = (x - mean) * rstd
    gi = gw = gb = None
    if output_mask[0]:
        scaled = g if w is None else g * w
        inner = scaled - scaled.mean(dims, keepdim=True) - normal * (scaled * normal).mean(dims, keepdim=True)
        gi = _cast(inner * rstd, input.dtype)
    if output_mask[1] and weight is not None:
        gw = _cast((g * normal).sum(lead) if lead else g * normal, weight.dtype)
    if output_mask[2] and bias is not None:
        gb = _cast(g.sum(lead) if lead else g.clone(), bias.dtype)
    return gi, gw, gb


@composite(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
    gradient_name="NativeGroupNormBackward0",
    method=False,
    refuses=(("bic", "GroupNormKernelImpl"),),
)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """``group_norm`` of (N, C, *), and means and 1 / standard deviations (N, group), in the dtype of ``input``."""
    y = aten.group_norm(input, group, weight, bias, eps)
    x = widened(input.reshape(N, group, C * HxW // group))
    mean = x.mean(-1)
    rstd = ((x - mean.unsqueeze(-1)).square().mean(-1) + eps).rsqrt()
    return y, mean.to(input.dtype), rstd.to(input.dtype)


@composite("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", method=False)
def _weight_norm(v, g, dim):
    return v * (g / torch.norm_except_dim(v, 2, dim))
