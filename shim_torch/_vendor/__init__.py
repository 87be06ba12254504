"""``torch._vendor``: packages that PyTorch carries a copy of; here they are the installed ones."""

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch._vendor", name)
