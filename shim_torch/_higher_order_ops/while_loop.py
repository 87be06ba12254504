"""``torch._higher_order_ops.while_loop``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._higher_order_ops.cond import truth

__all__ = ["while_loop"]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """``carried = body_fn(*carried)`` while ``cond_fn(*carried)``."""
    carried = tuple(carried_inputs)
    while truth(cond_fn(*carried)):
        carried = tuple(body_fn(*carried))
    return carried
