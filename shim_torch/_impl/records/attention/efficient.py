"""Attention by the names of PyTorch's memory-efficient kernels: (batch, length, heads, size), dense or packed."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.attention import (
    attend,
    attend_backward,
    hidden_keys,
    no_random_state,
    packed_parts,
    refuse_dropout,
)
from shim_torch._impl.table.calls import aten, shim, torch
from shim_torch._impl.table.record import composite, op

_HIDDEN: dict[str, Any] = {"function": False, "method": False}


def _mask(q: Any, k: Any, kind: int, window: int | None) -> Any:
    """What each query may not look at. ``kind``: 0 nothing, 1 later keys, 2 later keys counted from the ends."""
    left = -1 if not window else window - 1
    return hidden_keys(q.size(-2), k.size(-2), kind > 0, left, -1, kind == 2, q.device)


def _pieces(cum_q: Any, cum_k: Any, seqlen_k: Any) -> list[tuple[slice, slice]]:
    """Where each packed sequence lies; of its keys the first ``seqlen_k`` count."""
    parts = packed_parts(cum_q, cum_k)
    if seqlen_k is None:
        return parts
    return [(a, slice(b.start, b.start + n)) for (a, b), n in zip(parts, seqlen_k.tolist(), strict=True)]


def _heads_first(*tensors: Any) -> list[Any]:
    return [t.transpose(-3, -2) for t in tensors]


def _checked(query: Any, key: Any, value: Any, cu_seqlens_q: Any, cu_seqlens_k: Any) -> None:
    for t in (query, key, value):
        if t.dim() != 4:
            raise RuntimeError("Expected (batch, length, heads, size) tensors")
    if (cu_seqlens_q is None) != (cu_seqlens_k is None):
        raise RuntimeError("cu_seqlens_q.has_value() == cu_seqlens_k.has_value() must be true")
    if cu_seqlens_q is not None and query.size(0) != 1:
        raise RuntimeError("cu_seqlen only supports batch_size=1")


@composite(
    "_efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int custom_mask_type, bool compute_log_sumexp=False, *, float? scale=None, Tensor? seqlen_k=None, int? window_size=None) -> (Tensor output, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, SymInt max_seqlen_batch_q, SymInt max_seqlen_batch_k)",
    **_HIDDEN)  # fmt: skip
def _efficient_attention_forward(
    query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, custom_mask_type,
    compute_log_sumexp, scale, seqlen_k, window_size,
):  # fmt: skip
    """Packed sequences stand in one batch; their logsumexp is padded to the longest."""
    refuse_dropout("_efficient_attention_forward", dropout_p)
    _checked(query, key, value, cu_seqlens_q, cu_seqlens_k)

    def run(q: Any, k: Any, v: Any, bias: Any) -> tuple[Any, Any]:
        q, k, v = _heads_first(q, k, v)
        out, lse = attend(q, k, v, bias, _mask(q, k, custom_mask_type, window_size), scale)
        return out.transpose(-3, -2), lse

    if cu_seqlens_q is None:
        out, lse = run(query, key, value, bias)
        longest = (query.size(1), key.size(1))
    else:
        parts = _pieces(cu_seqlens_q, cu_seqlens_k, seqlen_k)
        found = [run(query[0, a], key[0, b], value[0, b], None if bias is None else bias[0, :, a, b]) for a, b in parts]
        out = torch.cat([o for o, _ in found], 0).unsqueeze(0)
        longest = tuple(max(s.stop - s.start for s in side) for side in zip(*parts, strict=True))
        padded = [aten.constant_pad_nd(one, [0, longest[0] - one.size(-1)], math.inf) for _, one in found]
        lse = torch.stack(padded, 0)
    none = no_random_state(query)
    return out.contiguous(), (lse if compute_log_sumexp else lse[..., :0]), none, none, *longest


@composite(
    "_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor out, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, SymInt max_seqlen_q, SymInt max_seqlen_k, Tensor logsumexp, float dropout_p, Tensor philox_seed, Tensor philox_offset, int custom_mask_type, bool bias_requires_grad, *, float? scale=None, int? num_splits_key=None, int? window_size=None, bool shared_storage_dqdkdv=False) -> (Tensor, Tensor, Tensor, Tensor)",
    **_HIDDEN)  # fmt: skip
def _efficient_attention_backward(
    grad_out_, query, key, value, bias, out, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, logsumexp, dropout_p,
    philox_seed, philox_offset, custom_mask_type, bias_requires_grad, scale, num_splits_key, window_size,
    shared_storage_dqdkdv,
):  # fmt: skip
    """Gradients of query, key, value and, where it is asked for, bias."""
    refuse_dropout("_efficient_attention_backward", dropout_p)
    _checked(query, key, value, cu_seqlens_q, cu_seqlens_k)

    def run(g: Any, q: Any, k: Any, v: Any, o: Any, lse: Any, bias: Any) -> list[Any]:
        g, q, k, v, o = _heads_first(g, q, k, v, o)
        mask = _mask(q, k, custom_mask_type, window_size)
        found = attend_backward(g, q, k, v, o, lse, bias, mask, scale)
        return [*(t.transpose(-3, -2).contiguous() for t in found[:3]), found[3]]

    if cu_seqlens_q is None:
        lse = logsumexp[..., : query.size(1)]
        gq, gk, gv, ds = run(grad_out_, query, key, value, out, lse, bias)
        return (
            gq,
            gk,
            gv,
            (ds.sum_to_size(bias.shape).to(bias.dtype) if bias is not None and bias_requires_grad else None),
        )
    grads = [torch.zeros_like(t) for t in (query, key, value)]
    bias_grad = torch.zeros_like(bias) if bias is not None and bias_requires_grad else None
    for i, (a, b) in enumerate(packed_parts(cu_seqlens_q, cu_seqlens_k)):
        g, q, k, v, o = (t[0, s] for t, s in ((grad_out_, a), (query, a), (key, b), (value, b), (out, a)))
        part = None if bias is None else bias[0, :, a, b]
        *found, ds = run(g, q, k, v, o, logsumexp[i, :, : a.stop - a.start], part)
        for grad, piece, place in zip(grads, found, (a, b, b), strict=True):
            grad[0, place] = piece
        if bias_grad is not None:
            bias_grad[0, :, a, b] = ds.to(bias.dtype)
    return *grads, bias_grad


@composite(
    "_scaled_dot_product_efficient_attention_backward(Tensor grad_out_, Tensor query, Tensor key, Tensor value, Tensor attn_bias, Tensor out, Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, float dropout_p, bool[4] grad_input_mask, bool is_causal=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor)",
    **_HIDDEN)  # fmt: skip
def _scaled_dot_product_efficient_attention_backward(
    grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p, grad_input_mask,
    is_causal, scale,
):  # fmt: skip
    """Of (batch, heads, length, size); an ``attn_bias`` of no elements, or None, is none."""
    refuse_dropout("_scaled_dot_product_efficient_attention_backward", dropout_p)
    bias = attn_bias if attn_bias is not None and attn_bias.numel() else None
    mask = hidden_keys(query.size(-2), key.size(-2), is_causal, -1, -1, False, query.device)
    lse = logsumexp[..., : query.size(-2)]
    gq, gk, gv, ds = attend_backward(grad_out_, query, key, value, out, lse, bias, mask, scale)
    grad_bias = ds.sum_to_size(bias.shape).to(bias.dtype) if bias is not None and grad_input_mask[3] else None
    return gq, gk, gv, grad_bias


@op(
    "shim::philox_uniform(Tensor self, int seed, int offset) -> Tensor",
    shape=lambda self: self.shape,
    dtype=lambda self: self.dtype,
    function=False,
)
def philox_uniform(xp, self, seed, offset):
    """Numbers of (0, 1] in the order of the elements: those of cuRAND's Philox4x32-10 under the seed, from the offset-th on."""
    from shim_torch._impl.tensor.generator import philox

    first = offset // 4
    words = philox(xp, seed, first, (offset + self.size + 3) // 4 - first).reshape(-1)[offset % 4 :][: self.size]
    unit = xp.float32(2.0**-32)
    return (words.astype(xp.float32) * unit + unit / xp.float32(2)).reshape(self.shape)


@composite(
    "_fill_mem_eff_dropout_mask_(Tensor(a!) self, float dropout_p, int seed, int offset) -> Tensor(a!)", method=False
)
def _fill_mem_eff_dropout_mask_(self, dropout_p, seed, offset):
    """The numbers of (0, 1] that PyTorch's memory-efficient kernel compares with ``dropout_p``: self (batch, heads, queries, keys)."""
    if not self.is_cuda:
        raise NotImplementedError(
            "Could not run 'aten::_fill_mem_eff_dropout_mask_' with arguments from the "
            f"'{self.device.type.upper()}' backend: it fills CUDA tensors"
        )
    if not self.is_contiguous():
        raise RuntimeError("Expected self.is_contiguous() to be true, but got false.")
    if self.dtype is not _core.float32:
        raise RuntimeError("Expected self.dtype() == at::ScalarType::Float to be true, but got false.")
    for d in range(4):
        self.size(d)
    return self.copy_(shim.philox_uniform(self.detach(), seed, offset))
