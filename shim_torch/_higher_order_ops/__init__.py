"""``torch._higher_order_ops``: operators that take functions. ``cond``, ``while_loop`` and ``flex_attention`` run at once."""

from __future__ import annotations

from typing import Any

from shim_torch._higher_order_ops.cond import cond
from shim_torch._higher_order_ops.map import map as map
from shim_torch._higher_order_ops.while_loop import while_loop

__all__ = ["cond", "while_loop"]


def __getattr__(name: str) -> Any:
    if name in ("InvokeQuant", "invoke_quant_packed"):
        from shim_torch._higher_order_ops import _invoke_quant

        return getattr(_invoke_quant, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch._higher_order_ops", name)
