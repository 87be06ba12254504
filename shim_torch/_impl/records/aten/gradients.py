"""Gradients that are operators of their own, of functions whose gradients are the engine's: theirs are asked for."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.aten_declare import aten, package, pulled
from shim_torch._impl.table.calls import aten as ops
from shim_torch._impl.table.calls import torch


@aten("glu_jvp")
def glu_jvp(glu: Any, x: Any, dx: Any, dim: int) -> Any:
    """The tangent of ``glu``, the result of x, for a tangent ``dx`` of x."""
    gate = x.chunk(2, dim)[1].sigmoid()
    first, second = dx.chunk(2, dim)
    return first * gate + second * (glu - gate * glu)


@aten("glu_backward_jvp")
def glu_backward_jvp(grad_x, grad_glu, x, dgrad_glu, dx, dim):
    """The tangent of the gradient ``grad_x`` of glu: of the half that is scaled, and of the gate's half."""
    a, b = x.chunk(2, dim)
    da, db = dx.chunk(2, dim)
    by_value = grad_x.chunk(2, dim)[0]
    gate = b.sigmoid()
    moved = db - db * gate
    first = dgrad_glu * gate + by_value * moved
    second = first * (a - a * gate) + by_value * (da - da * gate - a * gate * moved)
    return torch.cat([first, second], dim)


@aten("cumprod_backward")
def cumprod_backward(grad, input, dim, output):
    """The gradient of cumprod by its input."""
    return pulled(lambda x: x.cumprod(dim), (input,), grad.to(output.dtype))[0]


@aten("cummaxmin_backward")
def cummaxmin_backward(grad, input, indices, dim):
    """The gradient of cummax and cummin: each goes to the element whose index was found."""
    return torch.zeros_like(input).scatter_add(dim, indices, grad) if input.numel() else torch.zeros_like(input)


@aten("value_selecting_reduction_backward")
def value_selecting_reduction_backward(grad, dim, indices, sizes, keepdim):
    """The gradient of a reduction that picks elements (max, median, ...), in a tensor of ``sizes``, 0 elsewhere."""
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices, grad)


@aten("masked_select_backward")
def masked_select_backward(grad, input, mask):
    """The gradient of masked_select, in the broadcast shape of input and mask."""
    shape = _core.broadcast_shapes((input.shape, mask.shape))
    return grad.new_zeros(shape).masked_scatter(mask.expand(shape), grad)  # the caller sums it to the input's shape


@aten("gather_backward")
def gather_backward(grad, self, dim, index, sparse_grad):
    """The gradient of gather, summed where an element was read more than once; dense, also with ``sparse_grad``."""
    return grad.new_zeros(self.shape).scatter_add(dim, index, grad)


@aten("infinitely_differentiable_gelu_backward")
def infinitely_differentiable_gelu_backward(grad, self):
    """The gradient of gelu (without approximation), made of functions that have all derivatives."""
    cdf = 0.5 * (1 + torch.erf(self * 0.5**0.5))
    pdf = torch.exp(-0.5 * self * self) * 0.3989422804014327
    return grad * (cdf + self * pdf)


@aten("matmul_backward")
def matmul_backward(grad, self, other, mask):
    """The gradients of matmul by both operands, None where the mask is False."""
    return pulled(torch.matmul, (self, other), grad, mask)


@aten("matrix_exp_backward")
def matrix_exp_backward(self, grad):
    """The gradient of matrix_exp."""
    return pulled(torch.matrix_exp, (self,), grad)[0]


@aten("conv_tbc_backward")
def conv_tbc_backward(grad, input, weight, bias, pad):
    """The gradients of conv_tbc by input, weight and bias."""
    return pulled(lambda x, w, b: torch.conv_tbc(x, w, b, pad), (input, weight, bias), grad)


@aten("affine_grid_generator_backward")
def affine_grid_generator_backward(grad, size, align_corners):
    """The gradient of affine_grid_generator by its matrices: (N, n, n + 1) for n spatial dims."""
    n = len(size) - 2
    theta = grad.new_zeros((size[0], n, n + 1))
    return pulled(lambda t: ops.affine_grid_generator(t, list(size), align_corners), (theta,), grad)[0]


@aten("_pdist_backward")
def _pdist_backward(grad, self, p, pdist):
    return pulled(lambda x: torch.pdist(x, p), (self,), grad)[0]


@aten("_masked_softmax_backward")
def _masked_softmax_backward(grad_output, output, mask, dim):
    dim = output.dim() - 1 if dim is None else dim
    hidden = mask.expand(output.shape) if mask.dim() == output.dim() else mask
    product = (grad_output * output).masked_fill(hidden, 0)
    return (product - output * product.sum(dim, keepdim=True)).masked_fill(hidden, 0)


@aten("_segment_reduce_backward")
def _segment_reduce_backward(grad, output, data, reduce, lengths, offsets, axis, initial):
    def again(x: Any) -> Any:
        return torch.segment_reduce(
            x, reduce, lengths=lengths, offsets=offsets, axis=axis, initial=initial, unsafe=True
        )

    return pulled(again, (data,), grad)[0]


# --- losses -----------------------------------------------------------------------------------------------------------


@aten("rrelu_with_noise_backward")
def rrelu_with_noise_backward(grad, self, noise, lower, upper, training, self_is_result):
    """The gradient of rrelu: by the slopes drawn where training, else by the mean of the bounds."""
    if training and upper - lower > 1e-6:
        return grad * noise
    return ops.leaky_relu_backward(grad, self, (float(lower) + float(upper)) / 2, self_is_result)


# --- pooling and resampling -------------------------------------------------------------------------------------------


def _picked(n: int) -> Any:
    def body(grad: Any, self: Any, size: Any, output_size: Any, indices: Any) -> Any:
        flat = grad.new_zeros(self.shape).flatten(-n)
        return flat.scatter_add(-1, indices.flatten(-n), grad.flatten(-n)).reshape(self.shape)

    return body


aten("fractional_max_pool2d_backward")(_picked(2))
aten("fractional_max_pool3d_backward")(_picked(3))


@aten("max_pool2d_backward")
def max_pool2d_backward(grad, self, kernel_size, stride, padding, dilation, ceil_mode):
    """The gradient of max_pool2d."""

    def again(x: Any) -> Any:
        return ops.max_pool2d(x, kernel_size, list(stride), padding, dilation, ceil_mode)

    return pulled(again, (self,), grad)[0]


def _smooth(name: str) -> Any:
    def body(grad: Any, output_size: Any, input_size: Any, align_corners: bool, scales_h: Any, scales_w: Any) -> Any:
        zeros = grad.new_zeros(tuple(input_size))
        return pulled(lambda x: getattr(ops, name)(x, output_size, align_corners, scales_h, scales_w), (zeros,), grad)[
            0
        ]

    return body


for _kind in ("bilinear", "bicubic", "lanczos"):
    aten(f"_upsample_{_kind}2d_aa_backward")(_smooth(f"_upsample_{_kind}2d_aa"))


@aten("_grid_sampler_2d_cpu_fallback", public=True)
def _grid_sampler_2d_cpu_fallback(input, grid, interpolation_mode, padding_mode, align_corners):
    return ops.grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)


@aten("_grid_sampler_2d_cpu_fallback_backward")
def _grid_sampler_2d_cpu_fallback_backward(grad, input, grid, interpolation_mode, padding_mode, align_corners):
    def again(x: Any, at: Any) -> Any:
        return ops.grid_sampler_2d(x, at, interpolation_mode, padding_mode, align_corners)

    return pulled(again, (input, grid), grad)


# --- weights ----------------------------------------------------------------------------------------------------------


@aten("_weight_norm_interface_backward", "_weight_norm_differentiable_backward")
def _weight_norm_interface_backward(grad_w, saved_v, saved_g, saved_norms, dim):
    return pulled(lambda v, g: torch._weight_norm(v, g, dim), (saved_v, saved_g), grad_w)


@aten("_embedding_bag_dense_backward")
def _embedding_bag_dense_backward(
    grad,
    indices,
    offset2bag,
    bag_size,
    maximum_indices,
    num_weights,
    scale_grad_by_freq,
    mode,
    per_sample_weights,
    padding_idx,
):
    """mode: 0 sums, 1 averages, 2 takes the greatest of every bag."""
    made = grad.new_zeros((num_weights, grad.shape[1]))
    if mode == 2:
        rows = maximum_indices.clamp(min=0)
        return made.scatter_add(0, rows, grad.masked_fill(maximum_indices < 0, 0))
    counted = indices != padding_idx
    rows = grad[offset2bag]
    if mode == 1:
        rows = rows / bag_size[offset2bag].clamp(min=1).to(grad.dtype).unsqueeze(1)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    if scale_grad_by_freq:
        seen = torch.bincount(indices, minlength=num_weights)
        rows = rows / seen[indices].to(grad.dtype).unsqueeze(1)
    return made.index_add(0, indices, rows.masked_fill(~counted.unsqueeze(1), 0))


@aten("_embedding_bag_backward", "_embedding_bag_sparse_backward")
def _embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, *rest):
    maximum = rest[0] if len(rest) == 7 else indices.new_empty((0,))
    num_weights, by_freq, mode, *more = rest[1:] if len(rest) == 7 else rest
    sparse = more.pop(0) if len(more) == 3 else True
    if offset2bag.numel() != indices.numel():
        ends = torch.zeros_like(indices).index_add(0, offsets[1:], torch.ones_like(offsets[1:]))
        offset2bag = ends.cumsum(0)
    dense = _embedding_bag_dense_backward(
        grad, indices, offset2bag, bag_size, maximum, num_weights, by_freq, mode, *more
    )
    if not sparse:
        return dense
    rows = indices.unique()
    return package().sparse_coo_tensor(rows.unsqueeze(0), dense[rows], dense.shape)


@aten("_embedding_bag_per_sample_weights_backward")
def _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, offset2bag, mode, padding_idx):
    found = (grad[offset2bag] * weight[indices]).sum(1)
    return found.masked_fill(indices == padding_idx, 0)


@aten("embedding_sparse_backward")
def embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    """The gradient of an embedding's weight, as a sparse COO tensor of the rows that were looked up.

    ``scale_grad_by_freq`` is refused (RuntimeError).
    """
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    rows = indices.reshape(-1)
    kept = rows != padding_idx
    values = grad.reshape(-1, grad.shape[-1])[kept]
    return package().sparse_coo_tensor(rows[kept].unsqueeze(0), values, (num_weights, grad.shape[-1]))


@aten("adaptive_avg_pool3d_backward.grad_input")
def adaptive_avg_pool3d_backward(grad, self, grad_input):
    """The gradient of adaptive_avg_pool3d, written to ``grad_input``."""
    made = ops._adaptive_avg_pool3d_backward(grad, self)
    return ops._resize_output_(grad_input, made.shape, made.device).copy_(made)
