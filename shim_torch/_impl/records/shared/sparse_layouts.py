"""The modules behind sparse tensors, imported when an operator of theirs runs."""

from __future__ import annotations

from typing import Any


def coo_module() -> Any:
    """Tensors of coordinates and values."""
    from shim_torch._impl.sparse import coo

    return coo


def compressed_module() -> Any:
    """Tensors of compressed rows or columns."""
    from shim_torch._impl.sparse import compressed

    return compressed
