"""Attention of half-precision CUDA tensors as one kernel (``torch.ops.shim.attention``), with its gradient."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.attention import random_blocks
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import op


def _kept(xp, q_shape, cols, p, seed, start):
    """(batch, heads, L, S): which weights stay; the kernel's bits (attention_source.h)."""
    from shim_torch._impl.tensor.generator import philox

    batch, heads, rows = q_shape[:3]
    words = philox(xp, seed, start, random_blocks(q_shape, cols)).reshape(
        batch * heads, -(-rows // 16), -(-cols // 16), 32, 4
    )
    row, col = xp.arange(rows)[:, None], xp.arange(cols)[None, :]
    lane, word = row % 8 * 4 + col % 8 // 2, row // 8 % 2 * 2 + col // 8 % 2
    bits = words[:, row // 16, col // 16, lane, word] >> xp.uint32(16) * (col % 2).astype(xp.uint32) & xp.uint32(0xFFFF)
    return (bits >= xp.uint32(int(p * 65536 + 0.5))).reshape(batch, heads, rows, cols)


@op(
    "shim::attention_kept(Tensor query, int cols, float dropout, int seed, int start) -> Tensor",
    shape=lambda query, cols: (*query.shape[:3], cols),
    dtype=lambda query: (query.dtype, _core.bool),
    function=False,
)
def attention_kept(xp, query, cols, dropout, seed, start):
    """Which weights ``shim::attention`` keeps."""
    return _kept(xp, query.shape, cols, dropout, seed, start)


def _grads(g, q, k, v, mask, result0, result1, causal, scale, dropout, seed, start):
    if _core.is_grad_enabled():  # to be differentiated itself
        gq, gk, gv = _by_steps(g, q, k, v, mask, causal, scale, dropout, seed, start)
    else:
        gq, gk, gv = shim.attention_backward(g, q, k, v, mask, result0, result1, causal, scale, dropout, seed, start)
    times = q.size(1) // k.size(1)
    if times > 1:
        gk, gv = (t.unflatten(1, (k.size(1), times)).sum(2) for t in (gk, gv))
    return gq, gk, gv


def _by_steps(g, q, k, v, mask, causal, scale, dropout, seed, start):
    """The gradients in tensor operations, from the inputs alone."""
    times = q.size(1) // k.size(1)
    wide_q, wide_g = q.float(), g.float()
    wide_k, wide_v = (t.float() if times == 1 else t.float().repeat_interleave(times, 1) for t in (k, v))
    s = wide_q.matmul(wide_k.transpose(-2, -1)) * scale
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf) if mask.dtype == _core.bool else s + mask.float()
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=_core.bool, device=s.device).tril(), -math.inf)
    p = s.softmax(-1).masked_fill(s == -math.inf, 0.0)
    left = 1.0
    if dropout:
        left = shim.attention_kept(q, k.size(-2), dropout, seed, start).float() / (1 - dropout)
    ds = p * (
        wide_g.matmul(wide_v.transpose(-2, -1)) * left - (wide_g * (p * left).matmul(wide_v)).sum(-1, keepdim=True)
    )
    gq, gk = ds.matmul(wide_k) * scale, ds.transpose(-2, -1).matmul(wide_q) * scale
    return gq.to(q.dtype), gk.to(k.dtype), (p * left).transpose(-2, -1).matmul(wide_g).to(v.dtype)


def _one(which: int) -> Any:
    def formula(g, query, key, value, mask, result0, result1, causal, scale, dropout, seed, start):
        return _grads(g, query, key, value, mask, result0, result1, causal, scale, dropout, seed, start)[which]

    return formula


def _all(g, query, key, value, mask, result0, result1, causal, scale, dropout, seed, start):
    return _grads(g, query, key, value, mask, result0, result1, causal, scale, dropout, seed, start)


_BESIDE = (0, 2, 1, 3)  # the heads are next to each other in memory


def _scores(xp, query, key, mask, causal, scale):
    s = xp.matmul(query, key.swapaxes(-2, -1)) * query.dtype.type(scale)
    if mask is not None:
        s = xp.where(mask, s, -xp.inf) if mask.dtype.kind == "b" else s + mask.astype(s.dtype)
    return xp.where(xp.tril(xp.ones(s.shape[-2:], dtype=bool)), s, -xp.inf) if causal else s


@op(
    "shim::attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale, float dropout=0, int seed=0, int start=0)"
    " -> (Tensor, Tensor)",
    foreseen="any",
    shape=lambda query: [query.shape, query.shape[:-1]],
    dtype=lambda query: (_core.float32, [query.dtype, _core.float32]),
    order=(_BESIDE, None),
    keep=("mask",),
    native="attention",
    differentiable=(0,),
    grad={"query": _one(0), "key": _one(1), "value": _one(2)},
    fused={"query, key, value": _all},
    function=False,
)
def attention(xp, query, key, value, mask, causal, scale, dropout, seed, start):
    """Attention of (batch, heads, L, D) with keys and values (batch, heads / n, S, D), and the scores' logsumexp.

    dropout: the chance with which a weight is left out (rounded to 2**-16), the others growing by 1 / (1 - dropout); by which numbers
    of the generator's stream tell ``seed`` and ``start``
    """
    times = query.shape[1] // key.shape[1]
    key, value = (xp.repeat(t, times, 1) for t in (key, value))
    s = _scores(xp, query, key, mask, causal, scale)
    top = s.max(-1, keepdims=True)
    p = xp.exp(s - xp.where(xp.isfinite(top), top, 0))
    total = p.sum(-1, keepdims=True)
    if dropout:
        p = p * _kept(xp, query.shape, key.shape[2], dropout, seed, start) / p.dtype.type(1 - dropout)
    out = xp.matmul(p, value) / xp.where(total == 0, 1, total)
    return out, (xp.log(total) + top)[..., 0]


@op(
    "shim::attention_backward(Tensor grad_output, Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor out, Tensor logsumexp, bool causal, float scale, float dropout=0, int seed=0, int start=0)"
    " -> (Tensor, Tensor, Tensor)",
    foreseen="floats",
    shape=lambda query, key: [query.shape, *[(*query.shape[:2], *key.shape[2:])] * 2],
    dtype=lambda query: (_core.float32, [query.dtype] * 3),
    order=(_BESIDE,) * 3,
    keep=("mask",),
    native="attention_backward",
    function=False,
)
def attention_backward(xp, grad_output, query, key, value, mask, out, logsumexp, causal, scale, dropout, seed, start):
    """The gradients of ``attention``; those of keys and values have as many heads as the queries."""
    times = query.shape[1] // key.shape[1]
    key, value = (xp.repeat(t, times, 1) for t in (key, value))
    s = _scores(xp, query, key, mask, causal, scale)
    p = xp.where(xp.isfinite(s), xp.exp(s - logsumexp[..., None]), 0)
    inner = (grad_output * out).sum(-1, keepdims=True)
    left = p.dtype.type(1)
    if dropout:
        left = _kept(xp, query.shape, key.shape[2], dropout, seed, start) / p.dtype.type(1 - dropout)
    ds = p * (xp.matmul(grad_output, value.swapaxes(-2, -1)) * left - inner) * query.dtype.type(scale)
    return (
        xp.matmul(ds, key),
        xp.matmul(ds.swapaxes(-2, -1), query),
        xp.matmul((p * left).swapaxes(-2, -1), grad_output),
    )
