"""``torch._refs.linalg``: the operators of ``torch.linalg`` under those names."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import shim_torch.linalg as served
    from shim_torch._refs import find

    found = None if name.startswith("__") else find(served, name)
    if found is None:
        from shim_torch._missing import missing

        return missing("torch._refs.linalg", name)
    globals()[name] = found
    return found
