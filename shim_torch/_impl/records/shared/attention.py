"""Attention in tensor operations, and as one kernel: what its operators and scaled_dot_product_attention share."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.backends.attention import flash_sdp_enabled
from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.convolution_rules import c_type_name
from shim_torch._impl.records.shared.formulas import widened
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.rules import NARROW


def check_attention(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    """RuntimeError for dtypes or dims that scaled_dot_product_attention does not take."""
    if not query.dtype == key.dtype == value.dtype:
        q, k, v = (c_type_name(t.dtype) for t in (query, key, value))
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {q} key.dtype: {k} and value.dtype: {v} "
            "instead."
        )
    if attn_mask is not None and attn_mask.dtype not in (_core.bool, _core.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{c_type_name(attn_mask.dtype)} and  query.dtype: {c_type_name(query.dtype)} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )


def hidden_keys(lq: int, lk: int, causal: bool, left: int, right: int, bottom: bool, device: Any) -> Any:
    """True where a query may not look: after it if causal, or outside its window; None if it may look everywhere."""
    right = 0 if causal else right
    if left < 0 and right < 0:
        return None
    offset = lk - lq if bottom else 0
    i = torch.arange(lq, device=device).unsqueeze(1) + offset
    j = torch.arange(lk, device=device)
    mask = torch.zeros((lq, lk), dtype=_core.bool, device=device)
    mask = mask | (j > i + right) if right >= 0 else mask
    return mask | (j < i - left) if left >= 0 else mask


def attention_scores(q: Any, k: Any, bias: Any, mask: Any, scale: float | None) -> Any:
    """The scaled products (*, L, S) of queries and keys, with what ``bias`` adds and ``mask`` hides; False in a bool bias hides too."""
    factor = 1 / math.sqrt(q.size(-1) or 1) if scale is None else scale
    s = (q * factor).matmul(k.transpose(-2, -1))
    if bias is not None:
        s = s.masked_fill(~bias, -math.inf) if bias.dtype == _core.bool else s + bias.to(s.dtype)
    return s if mask is None else s.masked_fill(mask, -math.inf)


def repeated_heads(q: Any, k: Any) -> Any:
    """Keys or values once for every query head, where there are fewer of them."""
    times = q.size(-3) // max(k.size(-3), 1)
    return k if times == 1 else k.repeat_interleave(times, -3)


def attend(
    q: Any, k: Any, v: Any, bias: Any = None, mask: Any = None, scale: float | None = None, dropout_p: float = 0.0
) -> tuple[Any, Any]:
    """Outputs (*, L, D) of queries (*, L, D), keys and values (*, S, D), and the scores' logsumexp (*, L)."""
    s = attention_scores(widened(q), widened(repeated_heads(q, k)), bias, mask, scale)
    lse = s.logsumexp(-1)
    weights = (s - lse.unsqueeze(-1)).exp()
    weights = weights.masked_fill(s == -math.inf, 0.0)
    if dropout_p:
        weights = torch.dropout(weights, dropout_p, True)
    return weights.matmul(widened(repeated_heads(q, v))).to(q.dtype), lse


def by_cpu_kernel(query: Any, key: Any, value: Any, mask: Any, dropout_p: float) -> bool:
    """Whether PyTorch's kernel of the CPU would run; it alone takes a mask and causality together."""
    tensors = (query, key, value)
    return (
        all(t.device.type == "cpu" and t.dim() == 4 and t.numel() and t.stride(-1) == 1 for t in tensors)
        and query.size(-1) == key.size(-1) == value.size(-1)
        and not dropout_p
        and (mask is None or (mask.dim() in (2, 4) and not mask.requires_grad))
        and flash_sdp_enabled()
    )


_KEYS = 512  # of a block, in PyTorch's kernel of the CPU


def _block_scores(q: Any, k: Any, bias: Any, causal: bool, factor: float, row: int, first: int) -> Any:
    """The scores of queries from ``row`` on with keys from ``first`` on, all float32; -inf for a key that a query does not see."""
    s = q.matmul(k.transpose(-2, -1)) * factor
    if bias is not None:
        for d, start in ((-2, row), (-1, first)):
            bias = bias if bias.size(d) == 1 else bias.narrow(d, start, s.size(d))
        s = s.masked_fill(~bias, -math.inf) if bias.dtype == _core.bool else s + bias.to(s.dtype)
    if causal:
        s = s.masked_fill(~torch.ones(s.shape[-2:], dtype=_core.bool, device=s.device).tril(row - first), -math.inf)
    return s


def like_query(out: Any, query: Any) -> Any:
    """Outputs (batch, heads, L, D) in the memory order of their queries, (batch, L, heads, D) as a rule, for who views them so."""
    if query.is_contiguous() or not query.transpose(1, 2).is_contiguous():
        return out
    return out.transpose(1, 2).contiguous().transpose(1, 2)


def attend_narrow(q: Any, k: Any, v: Any, bias: Any, causal: bool, scale: float | None) -> tuple[Any, Any]:
    """Outputs for tensors of 16 bits as PyTorch's kernel of the CPU rounds them, and the scores' logsumexp.

    It goes through blocks of 512 keys, and what it multiplies values with is exp(score - greatest score so far) in their dtype,
    while the sum of these is not rounded. A row that sees no key is zero. Gradients are those of what is not rounded.
    """
    factor = 1 / math.sqrt(q.size(-1) or 1) if scale is None else scale
    wide, k, v = widened(q), widened(repeated_heads(q, k)), widened(repeated_heads(q, v))
    top: Any = None
    total: Any = 0.0
    out: Any = 0.0
    for first in range(0, k.size(-2), _KEYS):
        count = min(_KEYS, k.size(-2) - first)
        s = _block_scores(wide, k.narrow(-2, first, count), bias, causal, factor, 0, first)
        highest = s.detach().amax(-1, keepdim=True)
        highest = highest if top is None else torch.maximum(top, highest)
        finite = highest.masked_fill(highest == -math.inf, 0.0)
        weights = (s - finite).exp()
        rounded = weights + (weights.to(q.dtype).to(s.dtype) - weights).detach()
        left = 0.0 if top is None else (top - finite).exp()
        total = total * left + weights.sum(-1, keepdim=True)
        out = out * left + rounded.matmul(v.narrow(-2, first, count))
        top = highest
    return (out / total.masked_fill(total == 0, 1.0)).to(q.dtype), (top + total.log()).squeeze(-1)


def narrow_attention(q: Any, k: Any, v: Any, bias: Any, causal: bool, scale: float | None) -> tuple[Any, Any]:
    """``attend_narrow``, as one operator with PyTorch's gradients where nobody looks on."""
    run = shim.attention_of_halves if all(map(_core.unseen, (q, k, v))) else attend_narrow
    return run(q, k, v, bias, causal, scale)


def attend_narrow_backward(
    g: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, bias: Any, causal: bool, scale: float | None
) -> tuple[Any, Any, Any]:
    """The gradients as PyTorch's kernel of the CPU rounds them (found on values), from what the forward pass kept.

    It goes through blocks of 32, 64 or 256 queries and of 512 keys. What it multiplies, weights and their gradients, is of the
    inputs' dtype, and so is what it adds up the blocks in.
    """
    factor = 1 / math.sqrt(q.size(-1) or 1) if scale is None else scale
    dtype, times, rows = q.dtype, q.size(-3) // k.size(-3), q.size(-2)
    inner = (g.float() * out.float()).sum(-1, keepdim=True)
    gq, gk, gv = (torch.zeros(t.transpose(1, 2).shape, dtype=dtype).transpose(1, 2) for t in (q, k, v))
    step = 256 if rows >= 768 else 64 if rows >= 192 else 32
    for head in range(times):  # of those that share keys and values, one after the other
        of_head = [t[:, head::times] for t in (q, g, lse.unsqueeze(-1), inner, gq)]
        own = bias if bias is None or bias.dim() < 4 or bias.size(1) == 1 else bias[:, head::times]
        for row in range(0, rows, step):
            queries, grads, sums, dots, to_q = (t.narrow(-2, row, min(step, rows - row)) for t in of_head)
            queries, grads = queries.float(), grads.float()
            for first in range(0, min(row + step, k.size(-2)) if causal else k.size(-2), _KEYS):
                keys, values, to_k, to_v = (t.narrow(-2, first, min(_KEYS, k.size(-2) - first)) for t in (k, v, gk, gv))
                keys, values = keys.float(), values.float()
                s = _block_scores(queries, keys, own, causal, factor, row, first)
                p = (s - sums).exp().masked_fill(s == -math.inf, 0.0)
                ds = (p * (grads.matmul(values.transpose(-2, -1)) - dots)).to(dtype).float()
                to_v.copy_(to_v.float() + p.to(dtype).float().transpose(-2, -1).matmul(grads))
                to_q.copy_(to_q.float() + ds.matmul(keys) * factor)
                to_k.copy_(to_k.float() + ds.transpose(-2, -1).matmul(queries) * factor)
    return gq, gk, gv


def attend_backward(
    g: Any, q: Any, k: Any, v: Any, out: Any, lse: Any, bias: Any = None, mask: Any = None, scale: float | None = None
) -> tuple[Any, Any, Any, Any]:
    """Gradients of queries, keys, values and scores, from what the forward pass kept."""
    heads = k.size(-3)
    full_k, full_v = repeated_heads(q, k), repeated_heads(q, v)
    factor = 1 / math.sqrt(q.size(-1) or 1) if scale is None else scale
    g, wide_q, wide_k, wide_v = widened(g), widened(q), widened(full_k), widened(full_v)
    s = attention_scores(wide_q, wide_k, bias, mask, scale)
    p = (s - lse.unsqueeze(-1)).exp().masked_fill(s == -math.inf, 0.0)
    inner = (g * widened(out)).sum(-1, keepdim=True)
    ds = p * (g.matmul(wide_v.transpose(-2, -1)) - inner)
    gq = ds.matmul(wide_k) * factor
    gk, gv = ds.transpose(-2, -1).matmul(wide_q) * factor, p.transpose(-2, -1).matmul(g)
    if heads != q.size(-3):
        times = q.size(-3) // heads
        gk, gv = (t.unflatten(-3, (heads, times)).sum(-3) for t in (gk, gv))
    return gq.to(q.dtype), gk.to(k.dtype), gv.to(v.dtype), ds


def refuse_dropout(name: str, dropout_p: float) -> None:
    """NotImplementedError where dropout is asked of a kernel that has none here."""
    if dropout_p:
        raise NotImplementedError(f"torch.ops.aten.{name}: dropout is not supported by shim-torch")


def no_random_state(like: Any) -> Any:
    """What stands for the seed and offset of kernels that drew nothing: an empty int64 tensor."""
    return torch.empty((0,), dtype=_core.int64, device=like.device)


def packed_parts(cum_q: Any, cum_k: Any) -> list[tuple[slice, slice]]:
    """Where each packed sequence's queries and keys lie."""
    q, k = cum_q.tolist(), cum_k.tolist()
    return [(slice(q[i], q[i + 1]), slice(k[i], k[i + 1])) for i in range(len(q) - 1)]


_MOST = 128  # elements of a head


def in_one_kernel(q: Any, k: Any, v: Any, mask: Any, shared: bool) -> bool:
    """Whether the kernel takes these: of one half-precision dtype on CUDA, heads of 16 to 128 elements, equal leading dims
    (``shared``: fewer heads of keys and values), a mask without gradient."""
    if (
        not (q.is_cuda and k.is_cuda and v.is_cuda)
        or q.dtype not in NARROW
        or q.dim() not in (3, 4)
        or k.dim() != q.dim()
    ):
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


def attention_kernel(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float | None, dropout: float = 0.0) -> Any:
    """softmax(scale · q kᵀ + mask) v, (*, L, D) of q (*, L, D), k and v (*, S, D); weights are left out with the chance ``dropout``."""
    factor = 1 / math.sqrt(q.size(-1) or 1) if scale is None else float(scale)
    whole = tuple(t.unsqueeze(0) for t in (q, k, v)) if q.dim() == 3 else (q, k, v)
    seed = start = 0
    if dropout:
        from shim_torch._impl.tensor.generator import chosen

        seed, start = chosen(None, q.device)._take(4 * random_blocks(whole[0].shape, k.size(-2)))
    if q.dim() == 3:
        mask = mask.unsqueeze(0) if mask is not None and mask.dim() == 3 else mask
    out = shim.attention(*whole, mask, causal, factor, float(dropout), seed, start)[0]
    return out.squeeze(0) if q.dim() == 3 else out


def random_blocks(q_shape: Any, cols: int) -> int:
    """Of how many blocks of the generator's stream the weights take their bits: 32 for 16 queries and 16 keys."""
    return math.prod(q_shape[:2]) * -(-q_shape[2] // 16) * -(-cols // 16) * 32
