"""``torch.ao``: quantization of models. Only what models name in their definitions is here."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "quantization":
        return import_module("shim_torch.ao.quantization")
    from shim_torch._missing import missing

    return missing("torch.ao", name)
