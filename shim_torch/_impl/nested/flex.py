"""``flex_attention`` of jagged tensors: one attention over all rows laid end to end, whose mask keeps each row to itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.nested.base import handles
from shim_torch._impl.table.calls import torch
from shim_torch.nested._internal.nested_tensor import NestedTensor


def _places(x: NestedTensor) -> tuple[Any, Any]:
    """Of each element along the varying dimension: its row, and where in the row it is."""
    total = x._values.shape[x._ragged_idx - 1]
    index = torch.arange(total, device=x._values.device)
    rows = torch.searchsorted(x._offsets[1:].contiguous(), index, right=True)
    return rows, index - x._offsets[rows]


def _adapted(mod: Callable[..., Any], q: NestedTensor, kv: NestedTensor, is_score: bool) -> Callable[..., Any]:
    """The user's function, which counts within rows, as one of places in the whole."""
    q_row, q_at = _places(q)
    kv_row, kv_at = (q_row, q_at) if kv is q else _places(kv)

    def mask(b: Any, h: Any, i: Any, j: Any) -> Any:
        return (q_row[i] == kv_row[j]) & mod(q_row[i], h, q_at[i], kv_at[j])

    def score(value: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        return mod(value, q_row[i], h, q_at[i], kv_at[j])

    return score if is_score else mask


def create_nested_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    q_nt: Any,
    kv_nt: Any = None,
    BLOCK_SIZE: Any = 128,
    _compile: bool = False,
) -> Any:
    """The blocks that ``mask_mod(b, h, q_idx, kv_idx)`` leaves of attention between rows of the same number.

    Shapes:  q_nt and kv_nt (B, H, j, D), jagged along j; the mask is of their values laid end to end
    Errors:  ValueError for tensors whose layout is not jagged or whose places lie elsewhere
    """
    from shim_torch._impl.nn.block_mask import create_block_mask

    kv_nt = q_nt if kv_nt is None else kv_nt
    for name, x in (("q_nt", q_nt), ("kv_nt", kv_nt)):
        if not isinstance(x, NestedTensor):
            raise ValueError(f"create_nested_block_mask(): Expected {name} to be a NestedTensor with the jagged layout")
    if q_nt.device != kv_nt.device:
        raise ValueError("create_nested_block_mask(): Expected q_nt and kv_nt to share the same device")
    rows, columns = (x._values.shape[x._ragged_idx - 1] for x in (q_nt, kv_nt))
    return create_block_mask(
        _adapted(mask_mod, q_nt, kv_nt, False),
        B,
        H,
        rows,
        columns,
        device=q_nt.device,
        BLOCK_SIZE=BLOCK_SIZE,
        _compile=_compile,
    )


@handles("flex_attention")
def _flex_attention(func: Any, args: Any, kwargs: Any) -> Any:
    names = ("query", "key", "value", "score_mod", "block_mask")
    given = dict(zip(names, args, strict=False)) | kwargs
    q, k, v = (given.pop(n) for n in names[:3])
    if not all(isinstance(x, NestedTensor) for x in (q, k, v)):
        raise ValueError("FlexAttention does not support mixed nested tensor / non-nested tensor inputs.")
    if given.get("score_mod") is not None:
        given["score_mod"] = _adapted(given["score_mod"], q, k, True)
    if given.get("block_mask") is None:
        given["block_mask"] = create_nested_block_mask(lambda b, h, i, j: i == i, 1, 1, q, k)
    found = func(*(x._values.unsqueeze(0) for x in (q, k, v)), **given)
    return q.with_values(found.squeeze(0))
