"""``torch._VF``: the functions of the operator table by name, those too that ``torch`` itself does not show."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import shim_torch
    from shim_torch._impl.native import _core

    if not name.startswith("__") and hasattr(shim_torch.ops.aten, name):
        return _core.function(f"aten::{name}")
    return getattr(shim_torch, name)
