"""What a jagged tensor is made of, beside its values."""

from __future__ import annotations

from typing import Any

__all__ = ["extract_kwargs"]


def extract_kwargs(arg: Any) -> dict[str, Any]:
    """The arguments that make a nested tensor of the same rows from other values."""
    return {
        "offsets": arg._offsets,
        "lengths": arg._lengths,
        "_metadata_cache": arg._metadata_cache,
        "_ragged_idx": arg._ragged_idx,
    }
