"""``torch._C._dynamo``: PyTorch's bytecode compiler is not here; the checks its generated code calls are."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "guards":
        from importlib import import_module

        return import_module("shim_torch._C._dynamo.guards")
    from shim_torch._impl.surface.missing import missing

    return missing("torch._C._dynamo", name)
