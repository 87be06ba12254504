"""``torch._higher_order_ops``: operators that take functions. ``cond``, ``while_loop`` and ``flex_attention`` run at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._higher_order_ops.cond import cond
from shim_torch._higher_order_ops.map import map as map

__all__ = ["cond", "while_loop"]


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """``carried = body_fn(*carried)`` while ``cond_fn(*carried)``."""
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        carried = tuple(body_fn(*carried))
    return carried


def __getattr__(name: str) -> Any:
    if name in ("InvokeQuant", "invoke_quant_packed"):
        from shim_torch._higher_order_ops import _invoke_quant

        return getattr(_invoke_quant, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch._higher_order_ops", name)
