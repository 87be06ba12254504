"""The native core of shim-torch: tensors, operator table, autograd engine, memory. Loads ``native._core``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from native import _core

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["_core", "include_dir"]


def include_dir() -> str:
    """The folder of C++ headers that extensions compile against."""
    return str(Path(__file__).parent / "include")
