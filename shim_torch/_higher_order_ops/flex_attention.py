"""``torch._higher_order_ops.flex_attention``: attention with a function on the scores, as an operator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shim_torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from shim_torch._impl.library.higher_order import HigherOrderOperator

__all__ = ["FlexAttentionHOP", "TransformGetItemToIndex", "flex_attention", "sdpa_dense"]


class FlexAttentionHOP(HigherOrderOperator):
    """``flex_attention(query, key, value, score_mod, block_mask, scale, kernel_options, buffers, buffers)``.

    ``block_mask`` is ``BlockMask.as_tuple()``, whose last element is the mask's function. Gives the result, the logarithm (of
    base 2) of the sum of each query's powers, and each query's largest score.
    """

    def __init__(self) -> None:
        super().__init__("flex_attention", cacheable=True)

    def __call__(
        self, query: Any, key: Any, value: Any, score_mod: Callable[..., Any], block_mask: tuple[Any, ...], scale: float,
        kernel_options: dict[str, Any], score_mod_other_buffers: tuple[Any, ...] = (), mask_mod_other_buffers: tuple[Any, ...] = (),
    ) -> Any:  # fmt: skip
        for buffers in (score_mod_other_buffers, mask_mod_other_buffers):
            if not isinstance(buffers, tuple):
                raise TypeError(f"buffers must be tuple, got {type(buffers)}")
        return sdpa_dense(
            query,
            key,
            value,
            score_mod,
            block_mask,
            scale,
            kernel_options,
            score_mod_other_buffers,
            mask_mod_other_buffers,
        )


def sdpa_dense(
    query: Any, key: Any, value: Any, score_mod: Callable[..., Any], block_mask: tuple[Any, ...], scale: float,
    kernel_options: dict[str, Any], score_mod_other_buffers: tuple[Any, ...] = (), mask_mod_other_buffers: tuple[Any, ...] = (),
) -> Any:  # fmt: skip
    """The operator on the whole matrix of scores, (B, Hq, L, S)."""
    import shim_torch as torch
    from shim_torch._impl.nn.block_mask import evaluate

    B, H, L, _ = query.shape
    S, groups = key.size(-2), H // key.size(1)
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    sizes = (B, H, L, S, query.device)
    scores = (query @ key.transpose(-2, -1)).to(wide) * scale
    scores = evaluate(lambda *a: score_mod(*a, *score_mod_other_buffers), (scores,), *sizes).to(wide)
    kept = evaluate(lambda *a: block_mask[-1](*a, *mask_mod_other_buffers), (), *sizes)
    scores = scores.masked_fill(~kept, -math.inf)
    lse, peak = scores.logsumexp(-1), scores.amax(-1)
    empty = lse == -math.inf
    weights = (scores - lse.masked_fill(empty, 0.0).unsqueeze(-1)).exp()
    return (weights.to(query.dtype) @ value), lse / math.log(2), peak / math.log(2)


flex_attention = FlexAttentionHOP()
