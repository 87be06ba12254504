"""Attention of half-precision CUDA tensors as one kernel (``torch.ops.shim.attention``), with its gradient."""

from __future__ import annotations

import math
from typing import Any

from native import _core

from ._formulas import shim, torch_module
from ._record import op
from ._rules import NARROW

_MOST = 128  # elements of a head


def in_one_kernel(q: Any, k: Any, v: Any, mask: Any, shared: bool) -> bool:
    """Whether the kernel takes these: of one half-precision dtype on CUDA, heads of 16 to 128 elements, equal leading dims
    (``shared``: fewer heads of keys and values), a mask without gradient."""
    if not (q.is_cuda and k.is_cuda and v.is_cuda) or q.dtype not in NARROW or q.dim() not in (3, 4) or k.dim() != q.dim():
        return False
    if k.shape != v.shape or q.size(-1) != k.size(-1) or q.size(-1) % 16 or q.size(-1) > _MOST:
        return False
    if not q.numel() or not k.numel() or q.shape[:-3] != k.shape[:-3]:
        return False
    if q.size(-3) != k.size(-3) and not (shared and q.dim() == 4 and q.size(-3) % k.size(-3) == 0):
        return False
    if mask is None:
        return True
    whole = (*q.shape[:-1], k.size(-2))
    fits = mask.dim() <= len(whole) and all(
        m in (1, w) for m, w in zip(reversed(mask.shape), reversed(whole), strict=False)
    )
    return bool(mask.is_cuda and not mask.requires_grad and fits and mask.dtype in (_core.bool, q.dtype))


def attention_kernel(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float | None) -> Any:
    """softmax(scale · q kᵀ + mask) v, (*, L, D) of q (*, L, D), k and v (*, S, D)."""
    factor = 1 / math.sqrt(q.size(-1)) if scale is None else float(scale)
    if q.dim() == 3:
        mask = mask.unsqueeze(0) if mask is not None and mask.dim() == 3 else mask
        return shim().attention(*(t.unsqueeze(0) for t in (q, k, v)), mask, causal, factor)[0].squeeze(0)
    return shim().attention(q, k, v, mask, causal, factor)[0]


def _grads(g, q, k, v, mask, result0, result1, causal, scale):
    if _core.is_grad_enabled():  # to be differentiated itself
        gq, gk, gv = _by_steps(g, q, k, v, mask, causal, scale)
    else:
        gq, gk, gv = shim().attention_backward(g, q, k, v, mask, result0, result1, causal, scale)
    times = q.size(1) // k.size(1)
    if times > 1:
        gk, gv = (t.unflatten(1, (k.size(1), times)).sum(2) for t in (gk, gv))
    return gq, gk, gv


def _by_steps(g, q, k, v, mask, causal, scale):
    """The gradients in tensor operations, from the inputs alone."""
    times = q.size(1) // k.size(1)
    wide_q, wide_g = q.float(), g.float()
    wide_k, wide_v = (t.float() if times == 1 else t.float().repeat_interleave(times, 1) for t in (k, v))
    s = wide_q.matmul(wide_k.transpose(-2, -1)) * scale
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf) if mask.dtype == _core.bool else s + mask.float()
    if causal:
        s = s.masked_fill(~torch_module().ones(s.shape[-2:], dtype=_core.bool, device=s.device).tril(), -math.inf)
    p = s.softmax(-1).masked_fill(s == -math.inf, 0.0)
    ds = p * (wide_g.matmul(wide_v.transpose(-2, -1)) - (wide_g * p.matmul(wide_v)).sum(-1, keepdim=True))
    gq, gk = ds.matmul(wide_k) * scale, ds.transpose(-2, -1).matmul(wide_q) * scale
    return gq.to(q.dtype), gk.to(k.dtype), p.transpose(-2, -1).matmul(wide_g).to(v.dtype)


def _one(which: int) -> Any:
    def formula(g, query, key, value, mask, result0, result1, causal, scale):
        return _grads(g, query, key, value, mask, result0, result1, causal, scale)[which]

    return formula


def _all(g, query, key, value, mask, result0, result1, causal, scale):
    return _grads(g, query, key, value, mask, result0, result1, causal, scale)


def _scores(xp, query, key, mask, causal, scale):
    s = xp.matmul(query, key.swapaxes(-2, -1)) * query.dtype.type(scale)
    if mask is not None:
        s = xp.where(mask, s, -xp.inf) if mask.dtype.kind == "b" else s + mask.astype(s.dtype)
    return xp.where(xp.tril(xp.ones(s.shape[-2:], dtype=bool)), s, -xp.inf) if causal else s


@op(
    "shim::attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool causal, float scale) -> (Tensor, Tensor)",
    shape=lambda query: [query.shape, query.shape[:-1]],
    dtype=lambda query: (_core.float32, [query.dtype, _core.float32]),
    keep=("mask",),
    native="attention",
    differentiable=(0,),
    grad={"query": _one(0), "key": _one(1), "value": _one(2)},
    fused={"query, key, value": _all},
    function=False,
)
def attention(xp, query, key, value, mask, causal, scale):
    """Attention of (batch, heads, L, D) with keys and values (batch, heads / n, S, D), and the scores' logsumexp."""
    times = query.shape[1] // key.shape[1]
    key, value = (xp.repeat(t, times, 1) for t in (key, value))
    s = _scores(xp, query, key, mask, causal, scale)
    top = s.max(-1, keepdims=True)
    p = xp.exp(s - xp.where(xp.isfinite(top), top, 0))
    total = p.sum(-1, keepdims=True)
    out = xp.matmul(p, value) / xp.where(total == 0, 1, total)
    return out, (xp.log(total) + top)[..., 0]


@op(
    "shim::attention_backward(Tensor grad_output, Tensor query, Tensor key, Tensor value, Tensor? mask, Tensor out, Tensor logsumexp, bool causal, float scale) -> (Tensor, Tensor, Tensor)",
    shape=lambda query, key: [query.shape, *[(*query.shape[:2], *key.shape[2:])] * 2],
    dtype=lambda query: (_core.float32, [query.dtype] * 3),
    keep=("mask",),
    native="attention_backward",
    function=False,
)
def attention_backward(xp, grad_output, query, key, value, mask, out, logsumexp, causal, scale):
    """The gradients of ``attention``; those of keys and values have as many heads as the queries."""
    times = query.shape[1] // key.shape[1]
    key, value = (xp.repeat(t, times, 1) for t in (key, value))
    s = _scores(xp, query, key, mask, causal, scale)
    p = xp.where(xp.isfinite(s), xp.exp(s - logsumexp[..., None]), 0)
    inner = (grad_output * out).sum(-1, keepdims=True)
    ds = p * (xp.matmul(grad_output, value.swapaxes(-2, -1)) - inner) * query.dtype.type(scale)
    return xp.matmul(ds, key), xp.matmul(ds.swapaxes(-2, -1), query), xp.matmul(p.swapaxes(-2, -1), grad_output)
