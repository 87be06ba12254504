"""Makers of masked tensors."""

from __future__ import annotations

from typing import Any

from shim_torch.masked.maskedtensor.core import MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A leaf with a copy of ``data``, whose elements count where the bool tensor ``mask``, of its shape and layout, is True.

    Errors: TypeError for other types, layouts and dtypes, ValueError for other shapes or indices.
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """``masked_tensor`` that keeps the history of ``data``."""
    return MaskedTensor._from_values(data, mask)
