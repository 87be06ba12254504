"""Attention in tensor operations."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.formulas import differentiated, widened
from shim_torch._impl.table.calls import aten, torch

_LARGE = 512 * 512  # scores of a head from which on it is worth while to leave out what is not seen


def _causal_by_parts(q: Any, k: Any, v: Any) -> Any:
    """Each part of the queries with the keys up to its last one: products and weights of the others are never made."""
    rows, keys = q.size(-2), k.size(-2)
    step = -(-rows // (4 if rows < 2048 else 8))
    hidden, parts = torch.ones((rows, keys), dtype=_core.bool, device=q.device).triu(1), []
    for first in range(0, rows, step):
        n, seen = min(step, rows - first), min(first + step, rows, keys)
        scores = q.narrow(-2, first, n).matmul(k.narrow(-2, 0, seen).transpose(-2, -1))
        mask = hidden[first : first + n, :seen]
        if scores.requires_grad:
            scores = scores.masked_fill(mask, float("-inf"))
        elif seen > first:
            scores[..., first:].masked_fill_(mask[:, first:], float("-inf"))
        parts.append(scores.softmax(-1).matmul(v.narrow(-2, 0, seen)))
    return torch.cat(parts, -2)


def _scores(q: Any, k: Any, factor: float) -> Any:
    """factor · q kᵀ: where it has no gradient, by a product that scales what it makes."""
    alike = q.dim() == k.dim() == 4 and q.shape[:2] == k.shape[:2] and q.numel() and k.numel()
    if alike and not differentiated(q, k) and _core.unseen_on_cuda(q) and _core.unseen_on_cuda(k):
        flat, other = q.flatten(0, 1), k.flatten(0, 1)
        made = torch.baddbmm(q.new_empty((1, 1, 1)), flat, other.transpose(1, 2), beta=0, alpha=factor)
        return made.unflatten(0, q.shape[:2])
    return (q * factor).matmul(k.transpose(-2, -1))


def attended(
    query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: float | None
) -> Any:
    """softmax(query · keyᵀ · scale + mask) · value in tensor operations."""
    factor = 1 / math.sqrt(query.size(-1) or 1) if scale is None else scale
    dtype = query.dtype
    q, k, v = widened(query), widened(key), widened(value)
    large = is_causal and not dropout_p and q.dim() > 1 and q.size(-2) * k.size(-2) >= _LARGE
    if large and all(_core.unseen_on_cuda(t) for t in (q, k, v)):
        return _causal_by_parts(q * factor, k, v).to(dtype)
    scores = _scores(q, k, factor)
    if is_causal:
        mask = torch.ones((q.size(-2), k.size(-2)), dtype=_core.bool, device=q.device).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == _core.bool else scores + attn_mask
    weights = scores.softmax(-1) if attn_mask is None else aten._safe_softmax(scores, -1)  # nothing seen: zero
    if dropout_p:
        weights = torch.dropout(weights, dropout_p, True)
    return weights.matmul(v).to(dtype)
