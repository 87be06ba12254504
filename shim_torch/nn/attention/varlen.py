"""``torch.nn.attention.varlen``: attention over packed sequences of different lengths, without padding."""

from __future__ import annotations

from typing import Any, NamedTuple

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch.library import custom_op as _custom_op

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(NamedTuple):
    """What ``varlen_attn`` returns besides its output: ``lse``, the scores' logsumexp."""

    lse: bool = False


_INPUTS = "Tensor query, Tensor key, Tensor value, Tensor cu_seq_q, Tensor? cu_seq_k, SymInt max_q, SymInt max_k, bool is_causal=False, float? scale=None, SymInt[]? window_size=None, bool enable_gqa=False, Tensor? seqused_k=None, Tensor? block_table=None, SymInt? num_splits=None"
_GRADIENT = "Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor lse, Tensor cu_seq_q, Tensor cu_seq_k, SymInt max_q, SymInt max_k, bool is_causal, Tensor rng_state, float? scale=None, SymInt[]? window_size=None"


def _sides(window_size: list[int] | None) -> dict[str, int]:
    """The window as the kernels' two arguments; -1: no bound on that side."""
    sides = [-1, -1] if window_size is None else window_size
    if len(sides) != 2:
        raise ValueError(f"window_size must have length 2, got {len(sides)}")
    return {"window_size_left": sides[0], "window_size_right": sides[1]}


def _run(
    query: Any, key: Any, value: Any, cu_seq_q: Any, cu_seq_k: Any, max_q: int, max_k: int, is_causal: bool = False,
    scale: float | None = None, window_size: list[int] | None = None, enable_gqa: bool = False, seqused_k: Any = None,
    block_table: Any = None, num_splits: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """(output, logsumexp); the kernel derives from the shapes whether heads are shared."""
    found = torch.ops.aten._flash_attention_forward(
        query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, 0.0, is_causal, False, scale=scale, seqused_k=seqused_k,
        block_table=block_table, num_splits=num_splits, **_sides(window_size),
    )  # fmt: skip
    return found[0], found[1]


def _logsumexp(query: Any) -> Any:
    return query.new_empty((query.size(1), query.size(0)), dtype=_core.float32)


@_custom_op("torch_attn::_varlen_attn", mutates_args={}, schema=f"({_INPUTS}) -> (Tensor, Tensor, Tensor)")
def _varlen_attn(query, *rest):
    state = torch.zeros((2,), dtype=_core.uint64, device=query.device)  # the state of a dropout that is not applied
    return *_run(query, *rest), state


@_varlen_attn.register_fake
def _(query, *_, **__):
    return torch.empty_like(query), _logsumexp(query), query.new_empty((2,), dtype=_core.uint64)


@_custom_op("torch_attn::_varlen_attn_out", mutates_args={"out"}, schema=f"(Tensor(a!) out, {_INPUTS}) -> Tensor")
def _varlen_attn_out(out, *inputs):
    found, lse = _run(*inputs)
    out.copy_(found)
    return lse


@_varlen_attn_out.register_fake
def _(out, query, *_, **__):
    return _logsumexp(query)


@_custom_op("torch_attn::_varlen_attn_backward", mutates_args={}, schema=f"({_GRADIENT}) -> (Tensor, Tensor, Tensor)")
def _varlen_attn_backward(
    grad_out, query, key, value, out, lse, cu_seq_q, cu_seq_k, max_q, max_k, is_causal, rng_state, scale=None,
    window_size=None,
):  # fmt: skip
    sequences = (cu_seq_q, cu_seq_k, max_q, max_k)
    return torch.ops.aten._flash_attention_backward(
        grad_out, query, key, value, out, lse, *sequences, 0.0, is_causal, rng_state, query.new_empty(0), scale=scale,
        **_sides(window_size),
    )  # fmt: skip


@_varlen_attn_backward.register_fake
def _(grad_out, query, key, value, *_, **__):
    return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Any, ...]) -> None:
    query, key, value, cu_seq_q, cu_seq_k, ctx.max_q, ctx.max_k, ctx.is_causal, ctx.scale, ctx.window_size, *rest = (
        inputs
    )
    for name, given in (("seqused_k", rest[1]), ("block_table", rest[2])):
        if given is not None:
            raise RuntimeError(f"{name} is an inference-only parameter.")
    ctx.save_for_backward(query, key, value, cu_seq_q, cu_seq_k, *output)


def _gradients(ctx: Any, grad_out: Any, grad_lse: Any, grad_rng: Any) -> tuple[Any, ...]:
    query, key, value, cu_seq_q, cu_seq_k, out, lse, state = ctx.saved_tensors
    found = torch.ops.torch_attn._varlen_attn_backward(
        grad_out, query, key, value, out, lse, cu_seq_q, cu_seq_k, ctx.max_q, ctx.max_k, ctx.is_causal, state, ctx.scale,
        ctx.window_size,
    )  # fmt: skip
    return (*found, *[None] * 11)


_varlen_attn.register_autograd(_gradients, setup_context=_keep)


def _check_heads(query: Any, key: Any, block_table: Any, enable_gqa: bool) -> None:
    here, there = query.size(1), key.size(2 if block_table is not None else 1)
    if not enable_gqa and here != there:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={here} and Hkv={there}. "
            f"Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and here % there != 0:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={here} and Hkv={there}."
        )


def _attend(out: Any, *, return_aux: AuxRequest | None, **inputs: Any) -> Any:
    """Checks both functions' arguments and calls the kernel; ``out`` None: a new tensor, with a gradient."""
    _check_heads(inputs["query"], inputs["key"], inputs["block_table"], inputs["enable_gqa"])
    inputs |= {"is_causal": inputs["window_size"] == (-1, 0), "window_size": list(inputs["window_size"])}
    if out is None:
        out, lse, _ = torch.ops.torch_attn._varlen_attn(**inputs)
    else:
        lse = torch.ops.torch_attn._varlen_attn_out(out, **inputs)
    return (out, lse) if return_aux and return_aux.lse else out


def varlen_attn(
    query: Any,
    key: Any,
    value: Any,
    cu_seq_q: Any,
    cu_seq_k: Any,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Any = None,
    block_table: Any = None,
    num_splits: int | None = None,
) -> Any:
    """Attention of each packed sequence to itself (or to the keys of the same number), one after another.

    Shapes:  query (T_q, H_q, D), key and value (T_k, H_kv, D), or pages (P, size, H_kv, D) with block_table (N, pages);
             cu_seq_q and cu_seq_k (N + 1,) are where the sequences begin and end -> (T_q, H_q, D); with
             ``return_aux=AuxRequest(lse=True)`` also logsumexp (H_q, T_q)
    Window:  (left, right) keys beside the diagonal, which ends at the last key; -1: no bound; (-1, 0): causal
    Memory:  no kernel that fuses it: the scores of one sequence at a time
    Errors:  ValueError for numbers of heads that do not fit; RuntimeError for gradients with seqused_k or block_table
    """
    return _attend(None, **locals())


def varlen_attn_out(
    out: Any,
    query: Any,
    key: Any,
    value: Any,
    cu_seq_q: Any,
    cu_seq_k: Any,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Any = None,
    block_table: Any = None,
    num_splits: int | None = None,
) -> Any:
    """``varlen_attn`` into ``out``, without a gradient."""
    return _attend(**locals())
