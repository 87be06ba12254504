"""Embedding, normalisation, dropout and attention of torch.nn.functional."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.attended import attended
from shim_torch._impl.records.shared.attention import (
    attention_kernel,
    by_cpu_kernel,
    check_attention,
    in_one_kernel,
    like_query,
    narrow_attention,
)
from shim_torch._impl.records.shared.formulas import alone_on_cuda, rows_added, widened
from shim_torch._impl.records.shared.norm_statistics import check_one_dtype, has_row_kernel, row_norm
from shim_torch._impl.records.shared.random_fill import dropout_mask, drops
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.formats import gradient_like_results
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import accumulation_dtype
from shim_torch._impl.tensor.type_info import finfo

_NN = {"module": "nn.functional", "method": False}


@composite(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    method=False,
    native="embedding",
    values="ranges",
    no_complex_gradient="embedding",
)
def embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse):
    """The rows of ``weight`` (V, D) at ``indices`` (*), int32 or int64: (*, D).

    The row ``padding_idx``, if not negative, gets no gradient. ``scale_grad_by_freq`` divides gradients by how often
    an index occurs; ``sparse`` makes the gradient a COO tensor.
    """
    if indices.dtype not in (_core.int64, _core.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{'cuda.' if indices.is_cuda else ''}{_core.scalar_name(indices.dtype)}Tensor instead (while checking arguments for embedding)"
        )
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    if sparse:
        return aten._embedding_sparse(weight, indices, padding_idx, scale_grad_by_freq)
    return aten._embedding(weight, indices, padding_idx, scale_grad_by_freq)


def _embedding_grad(g, weight_shape, indices, padding_idx, scale_grad_by_freq):
    flat, rows = indices.reshape(-1), g.reshape(-1, weight_shape[1])
    if padding_idx >= 0:
        rows = rows.masked_fill((flat == padding_idx).unsqueeze(1), 0)  # even where it is not a number
    if scale_grad_by_freq:
        counts = g.new_zeros(weight_shape[0]).index_add(0, flat, torch.ones_like(flat, dtype=g.dtype))
        rows = rows / counts[flat].unsqueeze(1)
    zeros = g.new_zeros(weight_shape)
    if g.is_cuda:  # in the order of the indices: the same sums in every run
        keys, order = flat.long().sort(stable=True)
        if alone_on_cuda(g):
            return shim.add_runs_(zeros, keys, order, rows, -1)
        return shim.add_runs(zeros, keys, order, rows, -1)
    return rows_added(zeros, flat, rows)


@op(
    "_embedding(Tensor weight, Tensor indices, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    foreseen="any",
    native="_embedding",
    values="ranges",
    module="_C",
    method=False,
    function=False,
    shape=lambda weight, indices: (*indices.shape, weight.shape[1]),
    dtype=lambda weight: weight.dtype,
    keep=("weight", "indices"),
    grad={"weight": _embedding_grad},
)
def _embedding(xp, weight, indices, padding_idx, scale_grad_by_freq):
    if xp.__name__ == "numpy" and indices.size and (int(indices.min()) < 0 or int(indices.max()) >= weight.shape[0]):
        raise IndexError("index out of range in self")
    return xp.take(weight, indices, axis=0)


def _check_normalized(input: Any, normalized_shape: Any, weight: Any, bias: Any, any_before: str = "*, ") -> int:
    n = len(normalized_shape)
    if n == 0:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    if input.dim() < n or tuple(input.shape[-n:]) != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [{any_before}{', '.join(map(str, normalized_shape))}], "
            f"but got input of size{list(input.shape)}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != tuple(normalized_shape):
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(t.shape)} and normalized_shape = {list(normalized_shape)}"
            )
    return n


@composite(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    foreseen="floats",
    gradient_name="NativeLayerNormBackward0",
    method=False,
    native="layer_norm",
    refuses=(("bic", "LayerNormKernelImpl"),),
    autocast="float32_cuda",
)
def layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable):
    """(x - mean) / √(var + eps) · weight + bias over the last dims, whose sizes are ``normalized_shape``."""
    n = _check_normalized(input, normalized_shape, weight, bias)
    check_one_dtype(input, weight, bias)
    if has_row_kernel(input, weight, bias):
        return row_norm(input, weight, bias, math.prod(normalized_shape), 0, 1, True, eps)[0]
    dims = tuple(range(input.dim() - n, input.dim()))
    x = widened(input.contiguous() if input.is_meta else input)  # as the kernel's result lies
    centred = x - x.mean(dims, True)
    y = centred * ((centred * centred).mean(dims, True) + eps).rsqrt()
    y = y if weight is None else y * weight
    return (y if bias is None else y + bias).to(input.dtype)


@composite(
    "rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    foreseen="floats",
    gradient_name="MulBackward0",
    method=False,
    native="rms_norm",
    follows=("input",),
    refuses=(("bi", "rms_norm"),),
    autocast="float32_cuda",
)
def rms_norm(input, normalized_shape, weight, eps):
    """x / √(mean(x²) + eps) · weight over the last dims, whose sizes are ``normalized_shape``, the shape of the weight.

    ``eps``: by default the machine epsilon of the dtype that is computed in, float32 for float16 and bfloat16.
    """
    n = _check_normalized(input, normalized_shape, weight, None, "*")
    if has_row_kernel(input, weight, None):
        eps = finfo(accumulation_dtype(input.dtype)).eps if eps is None else eps
        size = math.prod(normalized_shape)
        return gradient_like_results(input, lambda x: row_norm(x, weight, None, size, 0, 1, False, eps)[0])
    dims = tuple(range(input.dim() - n, input.dim()))
    x = widened(input)
    y = x * ((x * x).mean(dims, True) + (finfo(x.dtype).eps if eps is None else eps)).rsqrt()
    return (y if weight is None else y * weight).to(input.dtype)


@composite(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    gradient_name="NativeGroupNormBackward0",
    method=False,
    follows=("input",),
    one_dtype=True,
    refuses=(("bic", "GroupNormKernelImpl"),),
    autocast="float32_cuda",
)
def group_norm(input, num_groups, weight, bias, eps, cudnn_enabled):
    """(x - mean) / √(var + eps) · weight + bias, the statistics over ``num_groups`` groups of a sample's channels.

    Shapes:  input (N, C, *), weight and bias (C,) -> as input
    Errors:  RuntimeError where C is no multiple of ``num_groups``
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    channels = input.size(1)
    if num_groups <= 0 or channels % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(t.shape)} and input of shape {list(input.shape)}"
            )
    check_one_dtype(input, weight, bias)
    if input.size(0) and has_row_kernel(input, weight, bias):
        cols = input.numel() // (input.size(0) * num_groups)
        return gradient_like_results(
            input, lambda x: row_norm(x, weight, bias, cols, cols * num_groups // channels, num_groups, True, eps)[0]
        )
    x = widened(input)
    x = x.reshape(input.size(0), num_groups, x.numel() // max(input.size(0) * num_groups, 1))
    centred = x - x.mean(-1, True)
    y = (centred * ((centred * centred).mean(-1, True) + eps).rsqrt()).reshape(input.shape)
    shape = [1, channels, *[1] * (input.dim() - 2)]
    y = y if weight is None else y * weight.reshape(shape)
    return (y if bias is None else y + bias.reshape(shape)).to(input.dtype)


def _dropped(input: Any, p: float) -> Any:
    from shim_torch._impl.tensor.generator import chosen

    if input.is_cuda:
        return shim.dropout(input, p, *chosen(None, input.device)._take(2 * input.numel()))
    keep = _core.empty_tensor(input.shape, _core.bool, input.device).bernoulli_(1 - p)
    return shim.masked_scale(input, keep, 1 / (1 - p)), keep


@composite(
    "dropout(Tensor input, float p, bool train) -> Tensor",
    method=False,
    batching="random",
    nested="pointwise",
)
def dropout(input, p, train):
    """Elements become 0 by chance ``p``, the others are divided by 1 - p; ``input`` itself without ``train``."""
    if not drops(input, p, train):
        return input
    if p == 1:
        return input * input.new_zeros(())
    if input.dtype.is_floating_point and (input.is_cuda or (input.is_contiguous() and _core.unseen(input))):
        return _dropped(input, p)[0]
    return input * dropout_mask(input, p)


@composite("dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", method=False, batching="random")
def dropout_(self, p, train):
    """In place; without ``train`` nothing is written, and autograd sees nothing."""
    if not drops(self, p, train):
        return self
    return self.mul_(self.new_zeros(()) if p == 1 else dropout_mask(self, p))


@composite(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    **_NN,
    autocast="lower_precision",
)
def scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    """softmax(query · keyᵀ · scale + mask) · value, with ``scale`` 1 / √E by default.

    Shapes:  query (*, L, E), key (*, S, E), value (*, S, V), attn_mask broadcast to (*, L, S) -> (*, L, V)
    Dtypes:  one for query, key and value
    Errors:  RuntimeError for a mask and ``is_causal`` together, which the CPU alone takes (in 4-D, without dropout)
    ``attn_mask``: bool, true where attention is paid, or numbers that are added.
    ``is_causal``: query i sees keys up to i.
    ``enable_gqa``: heads (dim -3) of key and value are repeated to as many as query has.
    ``dropout_p``: weights are dropped whether a module trains or not.
    """
    if attn_mask is not None and is_causal:
        if not by_cpu_kernel(query, key, value, attn_mask, dropout_p):
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        before = torch.ones((query.size(-2), key.size(-2)), dtype=_core.bool).tril()
        attn_mask = (
            attn_mask & before if attn_mask.dtype == _core.bool else attn_mask.masked_fill(~before, float("-inf"))
        )
        is_causal = False
    check_attention(query, key, value, attn_mask)
    if 0 <= dropout_p < 1 and in_one_kernel(query, key, value, attn_mask, enable_gqa):
        return attention_kernel(query, key, value, attn_mask, is_causal, scale, dropout_p)
    by_kernel = by_cpu_kernel(query, key, value, attn_mask, dropout_p)
    if not (by_kernel and query.dtype.itemsize == 2) and enable_gqa:
        if query.size(-3) % max(key.size(-3), 1):
            raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
        times = query.size(-3) // max(key.size(-3), 1)
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    if by_kernel:
        return shim.cpu_attention(query, key, value, attn_mask, is_causal, scale)
    return attended(query, key, value, attn_mask, dropout_p, is_causal, scale)


@composite(
    "shim::cpu_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, float? scale) -> Tensor",
    gradient_name="ScaledDotProductFlashAttentionForCpuBackward0",
    function=False,
    method=False,
)
def cpu_attention(query, key, value, attn_mask, is_causal, scale):
    """What PyTorch's kernel of the CPU computes, and rounds in its way in half precision."""
    if query is None or key is None or value is None:
        raise RuntimeError("shim::cpu_attention needs a query, a key and a value, and got None for one of them")
    if query.dtype.itemsize == 2:
        return like_query(narrow_attention(query, key, value, attn_mask, is_causal, scale)[0], query)
    return like_query(attended(query, key, value, attn_mask, 0.0, is_causal, scale), query)
