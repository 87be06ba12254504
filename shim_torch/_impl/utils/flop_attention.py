"""Flop formulas of attention over packed sequences: the sum over the sequences, each of its own length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shim_torch._impl.utils.flop_formulas import (
    aten,
    register_flop_formula,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)

_Shapes = tuple[Any, Any, Any, Any]


def _offsets_to_lengths(offsets: Any, max_len: int) -> list[int]:
    """The lengths of packed sequences; where the offsets have no values, the greatest for each."""
    if offsets.device.type == "meta":
        return [max_len] * (offsets.size(0) - 1)
    found: list[int] = offsets.diff().tolist()
    return found


def _check(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)


def _packed(
    who: str,
    dims: int,
    tensors: tuple[Any, Any, Any, Any],
    cum_q: Any,
    cum_k: Any,
    longest: tuple[int, int],
    names: str,
) -> Iterator[_Shapes]:
    """(1, heads, length, size) of each sequence's queries, keys, values and, where they are given, gradients."""
    query, key, value, grad_out = tensors
    _check(key.dim() == dims, f"{who}: expected key.shape to be {dims}-dimensional")
    _check(value.dim() == dims, f"{who}: expected value.shape to be {dims}-dimensional")
    _check(cum_k is not None, f"{who}: {names}_k must not be None")
    _check(cum_q.shape == cum_k.shape, f"{who}: {names}_q and {names}_k must have the same shape")
    (h_q, d_q), (h_k, d_k), (h_v, d_v) = (t.shape[-2:] for t in (query, key, value))
    lengths = (_offsets_to_lengths(c, n) for c, n in zip((cum_q, cum_k), longest, strict=True))
    for l_q, l_k in zip(*lengths, strict=True):
        shape = (1, h_q, l_q, d_q)
        yield shape, (1, h_k, l_k, d_k), (1, h_v, l_k, d_v), shape if grad_out is not None else None


def _dense(query: Any, key: Any, value: Any, grad_out: Any) -> _Shapes:
    return query.shape, key.shape, value.shape, grad_out.shape if grad_out is not None else None


def _unpack_flash_attention_nested_shapes(
    *, query: Any, key: Any, value: Any, grad_out: Any = None, cum_seq_q: Any, cum_seq_k: Any, max_q: int, max_k: int
) -> Iterator[_Shapes]:
    """The shapes of each sequence in (all lengths, heads, size); without offsets, those of the tensors."""
    if cum_seq_q is None:
        yield _dense(query, key, value, grad_out)
        return
    given = query, key, value, grad_out
    yield from _packed("sdpa_flop_count", 3, given, cum_seq_q, cum_seq_k, (max_q, max_k), "cum_seq")


def _unpack_efficient_attention_nested_shapes(
    *, query: Any, key: Any, value: Any, grad_out: Any = None, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int,
    max_seqlen_k: int,
) -> Iterator[_Shapes]:  # fmt: skip
    """The shapes of each sequence in (1, all lengths, heads, size); without offsets, those of the tensors."""
    if cu_seqlens_q is None:
        yield _dense(query, key, value, grad_out)
        return
    who, given = "_unpack_efficient_attention_nested_shapes", (query, key, value, grad_out)
    yield from _packed(who, 4, given, cu_seqlens_q, cu_seqlens_k, (max_seqlen_q, max_seqlen_k), "cu_seqlens")


def _forward(shapes: Iterator[_Shapes]) -> int:
    return sum(sdpa_flop_count(q, k, v) for q, k, v, _ in shapes)


def _backward(shapes: Iterator[_Shapes]) -> int:
    return sum(sdpa_backward_flop_count(g, q, k, v) for q, k, v, g in shapes)


@register_flop_formula(aten._flash_attention_forward, get_raw=True)
def _flash_attention_forward_flop(
    query: Any, key: Any, value: Any, cum_seq_q: Any, cum_seq_k: Any, max_q: int, max_k: int, *_: Any, **__: Any
) -> int:
    offsets: Any = {"cum_seq_q": cum_seq_q, "cum_seq_k": cum_seq_k, "max_q": max_q, "max_k": max_k}
    return _forward(_unpack_flash_attention_nested_shapes(query=query, key=key, value=value, **offsets))


@register_flop_formula(aten._flash_attention_backward, get_raw=True)
def _flash_attention_backward_flop(
    grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, cum_seq_q: Any, cum_seq_k: Any, max_q: int,
    max_k: int, *_: Any, **__: Any,
) -> int:  # fmt: skip
    offsets: Any = {"cum_seq_q": cum_seq_q, "cum_seq_k": cum_seq_k, "max_q": max_q, "max_k": max_k}
    return _backward(
        _unpack_flash_attention_nested_shapes(query=query, key=key, value=value, grad_out=grad_out, **offsets)
    )


@register_flop_formula(aten._efficient_attention_forward, get_raw=True)
def _efficient_attention_forward_flop(
    query: Any, key: Any, value: Any, bias: Any, cu_seqlens_q: Any, cu_seqlens_k: Any, max_seqlen_q: int, max_seqlen_k: int,
    *_: Any, **__: Any,
) -> int:  # fmt: skip
    return _forward(
        _unpack_efficient_attention_nested_shapes(
            query=query, key=key, value=value, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k,
            max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k,
        )
    )  # fmt: skip


@register_flop_formula(aten._efficient_attention_backward, get_raw=True)
def _efficient_attention_backward_flop(
    grad_out: Any, query: Any, key: Any, value: Any, bias: Any, out: Any, cu_seqlens_q: Any, cu_seqlens_k: Any,
    max_seqlen_q: int, max_seqlen_k: int, *_: Any, **__: Any,
) -> int:  # fmt: skip
    return _backward(
        _unpack_efficient_attention_nested_shapes(
            query=query, key=key, value=value, grad_out=grad_out, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k,
            max_seqlen_q=max_seqlen_q, max_seqlen_k=max_seqlen_k,
        )
    )  # fmt: skip
