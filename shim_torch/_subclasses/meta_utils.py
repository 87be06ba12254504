"""``torch._subclasses.meta_utils``: what a tensor is like, without its data."""

from __future__ import annotations

from typing import Any

from native import _core


def is_sparse_any(t: Any) -> bool:
    """Whether a tensor has a sparse layout."""
    return is_sparse_coo(t) or is_sparse_compressed(t)


def is_sparse_coo(t: Any) -> bool:
    """Whether a tensor is a COO tensor."""
    return isinstance(t, _core.TensorBase) and t.layout == _core.sparse_coo


def is_sparse_compressed(t: Any) -> bool:
    """Whether a tensor is a CSR, CSC, BSR or BSC tensor."""
    compressed = (_core.sparse_csr, _core.sparse_csc, _core.sparse_bsr, _core.sparse_bsc)
    return isinstance(t, _core.TensorBase) and t.layout in compressed


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._subclasses.meta_utils", name)
