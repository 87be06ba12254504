"""``torch.backends.cusparselt``: a library that shim-torch doesn't use."""

from __future__ import annotations


def is_available() -> bool:
    """Whether cuSPARSELt is used: no."""
    return False


def version() -> int | None:
    return None


def get_max_alg_id() -> int | None:
    return None
