"""``torch.ao``: quantization of models. Only what models name in their definitions is here."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("nn", "quantization"):
        return import_module(f"shim_torch.ao.{name}")
    from shim_torch._impl.surface.missing import missing

    return missing("torch.ao", name)
