"""What programs registered with ``torch.library``, for the parts that run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

VMAP_RULES: dict[str, Callable[..., Any]] = {}  # "ns::name" -> the rule of register_vmap
defined: set[tuple[str, str]] = set()  # (qualified name, overload) of the operators that libraries of Python defined
higher_order: dict[str, Any] = {}  # name -> HigherOrderOperator
