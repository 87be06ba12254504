"""``torch.backends.mkldnn``: settings of oneDNN, which shim-torch doesn't use; they are kept and readable."""

from __future__ import annotations

from typing import Any

from shim_torch._missing import asked_of as _asked_of
from shim_torch.backends._flags import has_settings

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


def is_available() -> bool:
    """Whether oneDNN is used: no."""
    return False


_settings: dict[str, Any] = {"enabled": True, "deterministic": False, "allow_tf32": True, "fp32_precision": "none"}
has_settings(__name__)

__getattr__ = _asked_of(__name__)
