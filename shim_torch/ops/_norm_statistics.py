"""What normalisations say of their statistics."""

from __future__ import annotations

from typing import Any


def statistics_dtype(input: Any, wide: Any, *parameters: Any) -> Any:
    """On the CPU the input's own dtype, unless the parameters are of another one; elsewhere the wide one."""
    is_mixed = any(p is not None and p.dtype != input.dtype for p in parameters)
    return input.dtype if input.device.type == "cpu" and not is_mixed else wide
