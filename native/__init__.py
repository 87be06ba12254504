"""The native core of shim-torch: tensors, operator table, autograd engine, memory. Loads ``native._core``."""

from __future__ import annotations

import os

from . import _core as _core

__all__ = ["_core", "include_dir"]


def include_dir() -> str:
    """The folder of C++ headers that extensions compile against."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
