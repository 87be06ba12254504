"""The functions that autocast is made of, for those who switch it themselves."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core

set_autocast_cache_enabled = _core.set_autocast_cache_enabled
clear_autocast_cache = _core.clear_autocast_cache
autocast_increment_nesting = _core.autocast_increment_nesting
autocast_decrement_nesting = _core.autocast_decrement_nesting


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """The dtype of autocast on CUDA."""
    _core.set_autocast_dtype("cuda", dtype)
