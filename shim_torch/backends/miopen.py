"""``torch.backends.miopen``: a library that shim-torch doesn't use."""

from __future__ import annotations


def is_available() -> bool:
    """Whether it is used: no."""
    return False
