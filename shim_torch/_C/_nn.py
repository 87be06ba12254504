"""``torch._C._nn``: the operators behind ``torch.nn.functional``."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch._parse_to import parse_to as _parse_to

__all__ = ["_parse_to"]


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and _core.operator_overloads(f"aten::{name}"):
        made = globals()[name] = _core.function(f"aten::{name}", "torch._C._nn")
        return made
    from shim_torch._missing import missing

    return missing("torch._C._nn", name)
