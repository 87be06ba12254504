"""``torch.backends.miopen``: a library that shim-torch doesn't use."""

from __future__ import annotations

from shim_torch._impl.surface.missing import asked_of as _asked_of


def is_available() -> bool:
    """Whether it is used: no."""
    return False

__getattr__ = _asked_of(__name__)
