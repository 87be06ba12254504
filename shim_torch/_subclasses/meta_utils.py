"""``torch._subclasses.meta_utils``: what a tensor is like, without its data."""

from __future__ import annotations

from typing import Any


def is_sparse_any(t: Any) -> bool:
    """Whether a tensor has a sparse layout: no, tensors here are strided."""
    return False


is_sparse_coo = is_sparse_compressed = is_sparse_any


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._subclasses.meta_utils", name)
