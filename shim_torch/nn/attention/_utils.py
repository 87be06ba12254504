"""``torch.nn.attention._utils``: what the attention modules share."""

from __future__ import annotations

import math
from typing import Any


def _calculate_scale(head_dim_size: int, scale: float | None) -> float:
    """The factor of the scores: ``scale``, or one over the root of the head's size."""
    return 1.0 / math.sqrt(head_dim_size) if scale is None else scale


def _validate_sdpa_input(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    allow_lowp_kv: bool = False,
) -> None:
    """ValueError unless the three are of one dtype and device, with two dims or more."""
    for what, values in (
        ("dtype", [t.dtype for t in (query, key, value)]),
        ("device type", [t.device for t in (query, key, value)]),
    ):
        if values[0] == values[1] == values[2] or (what == "dtype" and allow_lowp_kv):
            continue
        name = what.split()[0]
        raise ValueError(
            f"Expected query, key, and value to have the same {what}, but got query.{name}: {values[0]}, "
            f"key.{name}: {values[1]}, and value.{name}: {values[2]} instead."
        )
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.dim()}, "
            f"key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
