"""``torch._refs.fft``: the operators of ``torch.fft`` under those names."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import shim_torch.fft as served
    from shim_torch._refs import find

    found = None if name.startswith("__") else find(served, name)
    if found is None:
        from shim_torch._missing import missing

        return missing("torch._refs.fft", name)
    globals()[name] = found
    return found
