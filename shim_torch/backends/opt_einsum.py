"""``torch.backends.opt_einsum``: the order of products in ``torch.einsum``."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.backends.flags import has_settings as _has_settings


def is_available() -> bool:
    """Whether the package opt_einsum chooses the order: no."""
    return False


def get_opt_einsum() -> Any:
    """None: the package opt_einsum is not used."""
    return None


_settings: dict[str, Any] = {"enabled": False, "strategy": None}
_has_settings(__name__)
