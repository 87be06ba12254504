"""``torch.cuda.amp.common``."""

from __future__ import annotations

from typing import Any

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is certainly no device for mixed precision: no GPU."""
    from shim_torch import cuda

    return not cuda.is_available()


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch.cuda.amp.common", name)
