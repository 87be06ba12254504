"""``torch.nn.attention.bias``: masks for scaled_dot_product_attention."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from shim_torch._missing import asked_of as _asked_of

__all__ = ["CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Where the diagonal of a causal mask begins."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


def _mask(rows: int, columns: int, diagonal: int) -> Any:
    import shim_torch

    return shim_torch.ones(rows, columns, dtype=shim_torch.bool).tril(diagonal)


def causal_upper_left(*size: int) -> Any:
    """A boolean mask whose diagonal begins in the upper left corner."""
    if len(size) != 2:
        raise RuntimeError("causal_upper_left only supports 2D tensors")
    return _mask(*size, 0)


def causal_lower_right(*size: int) -> Any:
    """A boolean mask whose diagonal ends in the lower right corner."""
    if len(size) != 2:
        raise RuntimeError("causal_lower_right only supports 2D tensors")
    return _mask(*size, size[1] - size[0])

__getattr__ = _asked_of(__name__)
