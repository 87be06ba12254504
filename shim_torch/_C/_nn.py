"""``torch._C._nn``: the operators behind ``torch.nn.functional``."""

from __future__ import annotations

from typing import Any

from shim_torch._parse_to import parse_to as _parse_to

__all__ = ["_parse_to"]


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        from shim_torch._C._tables import aten_function

        made = aten_function(name, "torch._C._nn")
        if made is not None:
            globals()[name] = made
            return made
    from shim_torch._missing import missing

    return missing("torch._C._nn", name)
