"""``torch.backends.nnpack``: a library that shim-torch doesn't use."""

from __future__ import annotations


def is_available() -> bool:
    """Whether it is used: no."""
    return False


_enabled = True


def set_flags(_enabled: bool) -> tuple[bool]:
    """Keeps whether it may be used; what it was before."""
    before, globals()["_enabled"] = globals()["_enabled"], bool(_enabled)
    return (before,)
