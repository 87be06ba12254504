"""Attention by its kernels' names: flash, efficient and plain, dense or over packed sequences, forward and backward."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.attention import (
    attend,
    attend_backward,
    attend_narrow,
    attend_narrow_backward,
    attention_scores,
    hidden_keys,
    like_query,
    narrow_attention,
    no_random_state,
    packed_parts,
    refuse_dropout,
    repeated_heads,
)
from shim_torch._impl.records.shared.formulas import apart, gradients, widened
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, direct
from shim_torch._impl.tensor.type_info import finfo

_HIDDEN: dict[str, Any] = {"function": False, "method": False}
_FUNCTION: dict[str, Any] = {"method": False}


# --- dense: (batch, heads, length, size) ----------------------------------------------------------------------------


@composite(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
    **_FUNCTION)  # fmt: skip
def _scaled_dot_product_attention_math(
    query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale, enable_gqa
):
    if attn_mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    mask = hidden_keys(query.size(-2), key.size(-2), is_causal, -1, -1, False, query.device)
    k, v = (repeated_heads(query, key), repeated_heads(query, value)) if enable_gqa else (key, value)
    weights = attention_scores(widened(query), widened(k), attn_mask, mask, scale).softmax(-1)
    if dropout_mask is not None:
        weights = weights.masked_fill(~dropout_mask, 0.0) / (1 - dropout_p)
    elif dropout_p:
        weights = torch.dropout(weights, dropout_p, True)
    return weights.matmul(widened(v)).to(query.dtype), weights.to(query.dtype)


@composite(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
    **_FUNCTION)  # fmt: skip
def _scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout_p, is_causal, attn_mask, scale):
    refuse_dropout("_scaled_dot_product_flash_attention_for_cpu", dropout_p)
    if query.dtype.itemsize == 2 and query.is_cpu:
        out, lse = narrow_attention(query, key, value, attn_mask, is_causal, scale)
    else:
        mask = hidden_keys(query.size(-2), key.size(-2), is_causal, -1, -1, False, query.device)
        out, lse = attend(query, key, value, attn_mask, mask, scale)
    return like_query(out, query), lse


@composite(
    "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
    **_HIDDEN)  # fmt: skip
def _flash_for_cpu_backward(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale):
    if query.dtype.itemsize == 2 and query.is_cpu:
        return attend_narrow_backward(grad_out, query, key, value, out, logsumexp, attn_mask, is_causal, scale)
    mask = hidden_keys(query.size(-2), key.size(-2), is_causal, -1, -1, False, query.device)
    return attend_backward(grad_out, query, key, value, out, logsumexp, attn_mask, mask, scale)[:3]


@composite(
    "_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
    **_FUNCTION)  # fmt: skip
def _scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, return_debug_mask, scale):
    refuse_dropout("_scaled_dot_product_flash_attention", dropout_p)
    lq, lk = query.size(-2), key.size(-2)
    out, lse = attend(query, key, value, None, hidden_keys(lq, lk, is_causal, -1, -1, False, query.device), scale)
    none = no_random_state(query)
    return out, lse, none, none, lq, lk, none, none, query.new_empty((0,))


@composite(
    "_scaled_dot_product_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
    **_HIDDEN)  # fmt: skip
def _scaled_flash_backward(
    grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, philox_seed,
    philox_offset, scale,
):  # fmt: skip
    mask = hidden_keys(query.size(-2), key.size(-2), is_causal, -1, -1, False, query.device)
    return attend_backward(grad_out, query, key, value, out, logsumexp, None, mask, scale)[:3]


@composite(
    "_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool compute_log_sumexp, float dropout_p=0.0, bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)",
    **_FUNCTION)  # fmt: skip
def _scaled_dot_product_efficient_attention(
    query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale
):
    refuse_dropout("_scaled_dot_product_efficient_attention", dropout_p)
    mask = hidden_keys(query.size(-2), key.size(-2), is_causal, -1, -1, False, query.device)
    out, lse = attend(query, key, value, attn_bias, mask, scale)
    none = no_random_state(query)
    return out, (lse if compute_log_sumexp else lse[..., :0]), none, none


def _narrow_gradients(g, query, key, value, attn_mask, is_causal, scale, result0, result1):
    if _core.is_grad_enabled():  # to be differentiated itself: of what is not rounded
        inputs = apart(query), apart(key), apart(value)
        return gradients(attend_narrow(*inputs, attn_mask, is_causal, scale)[0], inputs, g, True)
    return attend_narrow_backward(g, query, key, value, result0, result1, attn_mask, is_causal, scale)


@direct(
    "shim::attention_of_halves(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, float? scale) -> (Tensor, Tensor)",
    foreseen="floats",
    grad={"query, key, value": _narrow_gradients},
    differentiable=(0,),
    gradient_name="ScaledDotProductFlashAttentionForCpuBackward0",
    **_HIDDEN,
)
def attention_of_halves(query, key, value, attn_mask, is_causal, scale):
    """Attention of 16-bit tensors, and the scores' logsumexp, rounded as PyTorch's kernel of the CPU rounds it."""
    return attend_narrow(query, key, value, attn_mask, is_causal, scale)


# --- flash: (batch, length, heads, size), or packed (all lengths, heads, size) --------------------------------------


def _keys(key: Any, value: Any, cum_k: Any, used: Any, table: Any) -> list[tuple[Any, Any]]:
    """Each sequence's keys and values: packed by ``cum_k``, or in the pages (pages, size, heads, D) that ``table`` names.

    ``used``: how many of each sequence's count. Errors: RuntimeError where neither says how many there are.
    """
    if table is not None:
        if used is None:
            raise RuntimeError("_flash_attention_forward: block_table requires seqused_k")
        found = [(key[row].flatten(0, 1), value[row].flatten(0, 1)) for row in table.long()]
    elif cum_k is None:
        raise RuntimeError("_flash_attention_forward: cum_seq_k is required where there is no block_table")
    else:
        ends = cum_k.tolist()
        found = [(key[a:b], value[a:b]) for a, b in zip(ends, ends[1:], strict=False)]
    counts = [None] * len(found) if used is None else used.tolist()
    return [(k[:count], v[:count]) for (k, v), count in zip(found, counts, strict=True)]


def _window(q: Any, k: Any, causal: bool, left: Any, right: Any) -> Any:
    sides = (-1 if left is None else left, -1 if right is None else right)
    return hidden_keys(q.size(-2), k.size(-2), causal, *sides, True, q.device)


_FLASH = "Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None"


@composite(f"_flash_attention_forward({_FLASH}) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
           **_HIDDEN)  # fmt: skip
def _flash_attention_forward(
    query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, return_debug_mask, scale,
    window_size_left, window_size_right, seqused_k, alibi_slopes, block_table, num_splits,
):  # fmt: skip
    """Causal masks and windows end at the last key; packed sequences have a logsumexp (heads, all lengths)."""
    refuse_dropout("_flash_attention_forward", dropout_p)
    if alibi_slopes is not None:
        raise NotImplementedError(
            "torch.ops.aten._flash_attention_forward: alibi_slopes is not supported by shim-torch"
        )

    def run(q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        q, k, v = (t.transpose(-3, -2) for t in (q, k, v))
        out, lse = attend(q, k, v, None, _window(q, k, is_causal, window_size_left, window_size_right), scale)
        return out.transpose(-3, -2), lse

    if cum_seq_q is None:
        out, lse = run(query, key, value)
    else:
        ends = cum_seq_q.tolist()
        keys = _keys(key, value, cum_seq_k, seqused_k, block_table)
        found = [run(query[a:b], k, v) for a, b, (k, v) in zip(ends, ends[1:], keys, strict=False)]
        out, lse = torch.cat([o for o, _ in found], 0), torch.cat([one for _, one in found], -1)
    return out.contiguous(), lse, no_random_state(query), no_random_state(query), query.new_empty((0,))


@composite(
    "_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None) -> (Tensor, Tensor, Tensor)",
    **_HIDDEN)  # fmt: skip
def _flash_attention_backward(
    grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, rng_state,
    unused, scale, window_size_left, window_size_right,
):  # fmt: skip
    refuse_dropout("_flash_attention_backward", dropout_p)

    def run(g: Any, q: Any, k: Any, v: Any, o: Any, lse: Any) -> Any:
        g, q, k, v, o = (t.transpose(-3, -2) for t in (g, q, k, v, o))
        mask = _window(q, k, is_causal, window_size_left, window_size_right)
        return [t.transpose(-3, -2).contiguous() for t in attend_backward(g, q, k, v, o, lse, None, mask, scale)[:3]]

    if cum_seq_q is None or cum_seq_q.numel() == 0:
        return tuple(run(grad_out, query, key, value, out, logsumexp))
    found = [
        run(grad_out[a], query[a], key[b], value[b], out[a], logsumexp[..., a])
        for a, b in packed_parts(cum_seq_q, cum_seq_k)
    ]
    return tuple(torch.cat(list(part), 0) for part in zip(*found, strict=True))


@composite(
    "_fused_sdp_choice(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> int",
    **_FUNCTION,
)
def _fused_sdp_choice(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    """0: the plain computation, the only one here."""
    return 0


@composite(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)", **_FUNCTION
)
def _fused_rms_norm(input, normalized_shape, weight, eps):
    """x / √(mean(x²) + eps) · weight over the last dims, and 1 / √(…)."""
    dims = list(range(-len(normalized_shape), 0))
    x = widened(input)
    eps = finfo(input.dtype).eps if eps is None else eps
    rstd = (x.square().mean(dims, keepdim=True) + eps).rsqrt()
    y = x * rstd
    return (y if weight is None else y * widened(weight)).to(input.dtype), rstd


@composite("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor", **_FUNCTION)
def _weight_int8pack_mm(self, mat2, scales):
    """self (M, K) times int8 weights (N, K), each row of which has a scale."""
    if self.dim() != 2 or mat2.dim() != 2 or self.size(1) != mat2.size(1):
        raise RuntimeError(
            f"_weight_int8pack_mm: expect shapes (M, K) and (N, K), got {list(self.shape)} and {list(mat2.shape)}"
        )
    if mat2.dtype != _core.int8:
        raise RuntimeError("_weight_int8pack_mm_cpu : expect B to be int8 tensor.")
    return (widened(self).mm(mat2.to(widened(self).dtype).t()) * widened(scales)).to(self.dtype)
