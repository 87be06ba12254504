"""Compressed sparse rows and columns (CSR, CSC), and blocks of them (BSR, BSC)."""

from __future__ import annotations

from typing import Any

from native import _core

ROWS = ("crow_indices", "col_indices")
COLUMNS = ("ccol_indices", "row_indices")
NAMES: dict[Any, tuple[str, str]] = {
    _core.sparse_csr: ROWS,
    _core.sparse_bsr: ROWS,
    _core.sparse_csc: COLUMNS,
    _core.sparse_bsc: COLUMNS,
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"compressed sparse layouts are not supported by shim-torch ({name})")
