"""``torch.cuda.amp.common``."""

from __future__ import annotations

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is certainly no device for mixed precision: no GPU."""
    from shim_torch import cuda

    return not cuda.is_available()
