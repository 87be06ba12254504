"""``torch._dynamo.utils``: what libraries ask before they compile. Nothing is compiled here."""

from __future__ import annotations

from typing import Any


def is_compile_supported(device_type: Any) -> bool:
    """False: functions run as they are."""
    return False
