"""``torch.nn.attention.flex_attention``: attention with a function on the scores, computed on the whole matrix.

The function is called once, with index tensors that broadcast, where PyTorch calls it for each element; the scores take
queries x keys memory, as PyTorch's do where it isn't compiled.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from shim_torch._impl.nn.block_mask import (
    _DEFAULT_SPARSE_BLOCK_SIZE,
    _LARGE_SPARSE_BLOCK_SIZE,
    BlockMask,
    create_block_mask,
    create_mask,
    noop_mask,
)
from shim_torch._impl.nn.block_mask import dense as _dense
from shim_torch._impl.nn.block_mask import evaluate as _evaluate
from shim_torch._impl.nn.block_mask import ordered as _ordered

__all__ = [
    "_DEFAULT_SPARSE_BLOCK_SIZE",
    "_LARGE_SPARSE_BLOCK_SIZE",
    "_vmap_for_bhqkv",
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]
_score_mod_signature = _mask_mod_signature = Callable[..., Any]
FlexKernelOptions = dict[str, Any]


class _ModificationType(Enum):
    """What kind of function was given."""

    SCORE_MOD = 1
    MASK_MOD = 2
    UNKNOWN = 3


class AuxRequest(NamedTuple):
    """What flex_attention gives beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The log-sum-exp and the largest score of each query."""

    lse: Any = None
    max_scores: Any = None


def _identity(score: Any, batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    return score


def _vmap_for_bhqkv(
    fn: Callable[..., Any],
    prefix: tuple[Any, ...],
    suffix: tuple[Any, ...] = (),
    out_dims: Any = 0,
    group_dim: bool = False,
) -> Callable[..., Any]:
    """A function over vectors of batches, heads, queries and keys: ``fn`` is called once, with indices that broadcast."""
    if group_dim:
        raise NotImplementedError(
            "torch.nn.attention.flex_attention._vmap_for_bhqkv(group_dim=True) is not supported by shim-torch"
        )

    def call(*args: Any) -> Any:
        first = len(prefix)
        places = args[first : first + 4]
        shaped = [x.reshape([-1 if i == d else 1 for i in range(4)]) for d, x in enumerate(places)]
        result = fn(*args[:first], *shaped, *args[first + 4 :])
        return result.expand(*(len(x) for x in places))

    return call


def _create_empty_block_mask(query: Any, key: Any) -> BlockMask:
    """A mask that keeps everything, of one block that no sequence outgrows."""
    import shim_torch

    one = _ordered(shim_torch.ones((1, 1, 1, 1), device=query.device))
    return BlockMask.from_kv_blocks(*one, BLOCK_SIZE=_LARGE_SPARSE_BLOCK_SIZE, seq_lengths=(1, 1))


def _get_mod_type(fn: Callable[..., Any]) -> _ModificationType:
    import inspect

    count = sum(p.default is p.empty for p in inspect.signature(fn).parameters.values())
    return {5: _ModificationType.SCORE_MOD, 4: _ModificationType.MASK_MOD}.get(count, _ModificationType.UNKNOWN)


def _joined(mask_mods: tuple[Any, ...], join: Callable[[Any, Any], Any], empty: bool) -> Callable[..., Any]:
    """A mask of several, joined one after another by and_ or or_; of none at all it is ``empty``."""
    if not all(map(callable, mask_mods)):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def joined(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        kept = (mask(b, h, q_idx, kv_idx) for mask in mask_mods)
        return functools.reduce(join, kept, b.new_full((), empty, dtype=_bool()))

    joined.__name__ = f"{join.__name__}mask"
    return joined


def and_masks(*mask_mods: Any) -> Any:
    """A mask that keeps what all masks keep."""
    return _joined(mask_mods, operator.and_, True)


def or_masks(*mask_mods: Any) -> Any:
    """A mask that keeps what any mask keeps."""
    return _joined(mask_mods, operator.or_, False)


def _bool() -> Any:
    from shim_torch._impl.native import _core

    return _core.bool


def _check(query: Any, key: Any, value: Any, enable_gqa: bool) -> None:
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype}, key.dtype: {key.dtype}, "
            f"and value.dtype: {value.dtype} instead."
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-3) != key.size(-3) and not enable_gqa:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={query.size(-3)} and Hkv={key.size(-3)}. "
            "Try setting enable_gqa=True for GQA."
        )
    if query.size(-3) % key.size(-3):
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={query.size(-3)} and Hkv={key.size(-3)}."
        )


def _computed(block_mask: BlockMask, rows: int, columns: int) -> Any:
    """Which elements the mask leaves, (B, H, rows, columns)."""
    q, kv = block_mask.BLOCK_SIZE
    B, H = block_mask.kv_indices.shape[:2]
    device = block_mask.kv_indices.device
    q, kv = min(q, rows), min(kv, columns)

    def spread(count: Any, indices: Any) -> Any:
        blocks = _dense(count, indices).bool()
        return blocks.repeat_interleave(q, -2).repeat_interleave(kv, -1)[..., :rows, :columns]

    found = _evaluate(block_mask.mask_mod, (), B, H, rows, columns, device) & spread(
        block_mask.kv_num_blocks, block_mask.kv_indices
    )
    if block_mask.full_kv_num_blocks is not None:
        found = found | spread(block_mask.full_kv_num_blocks, block_mask.full_kv_indices)
    return found


def flex_attention(
    query: Any,
    key: Any,
    value: Any,
    score_mod: Any = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(query @ keyT * scale)) @ value over the blocks of ``block_mask``.

    Shapes:  query (B, Hq, L, E), key (B, Hkv, S, E), value (B, Hkv, S, Ev) -> (B, Hq, L, Ev)
    score_mod: (score, b, h, q_idx, kv_idx) -> score. Rows in which nothing is left give zeros.
    """
    import shim_torch

    if shim_torch.overrides.has_torch_function((query, key, value)):
        return shim_torch.overrides.handle_torch_function(
            flex_attention, (query, key, value), query, key, value, score_mod=score_mod, block_mask=block_mask, scale=scale,
            enable_gqa=enable_gqa, return_lse=return_lse, kernel_options=kernel_options, return_aux=return_aux,
        )  # fmt: skip
    _check(query, key, value, enable_gqa)
    B, H, L, E = query.shape
    S, groups = key.size(-2), H // key.size(-3)
    sized = block_mask is not None and block_mask.BLOCK_SIZE[1] != _LARGE_SPARSE_BLOCK_SIZE  # else it is for any length
    if block_mask is not None and sized and (block_mask.seq_lengths[0] < L or block_mask.seq_lengths[1] < S):
        raise ValueError(
            f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={L} and kv_len={S}. As the block mask was "
            "created for a smaller length than you're using it for, you likely need to create a new block mask."
        )
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    wide = shim_torch.float64 if query.dtype == shim_torch.float64 else shim_torch.float32
    scale = 1.0 / math.sqrt(E) if scale is None else scale
    scores = (query.to(wide) @ key.to(wide).transpose(-2, -1)) * scale
    if score_mod is not None:
        scores = _evaluate(score_mod, (scores,), B, H, L, S, query.device).to(wide)
    if block_mask is not None:
        scores = scores.masked_fill(~_computed(block_mask, L, S), -math.inf)
    lse = shim_torch.logsumexp(scores, -1)
    empty = lse == -math.inf
    weights = shim_torch.exp(scores - lse.masked_fill(empty, 0.0).unsqueeze(-1))
    out = (weights @ value.to(wide)).to(query.dtype)
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
    return (out, lse) if return_lse else out


def __getattr__(name: str) -> Any:
    if name == "create_nested_block_mask":
        from shim_torch._impl.nested.flex import create_nested_block_mask

        return create_nested_block_mask
    from shim_torch._impl.surface.missing import missing

    return missing("torch.nn.attention.flex_attention", name)
