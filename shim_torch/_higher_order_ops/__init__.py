"""``torch._higher_order_ops``: operators that take functions. ``cond``, ``while_loop`` and ``flex_attention`` run at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["cond", "while_loop"]


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``."""
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """``carried = body_fn(*carried)`` while ``cond_fn(*carried)``."""
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        carried = tuple(body_fn(*carried))
    return carried


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._higher_order_ops", name)
