"""``torch._inductor.decomposition``: the code generator's table of decompositions. Registrations are noted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch import _decomp
from shim_torch._ops import OpOverload, OpOverloadPacket

decompositions: dict[Any, Callable[..., Any]] = {}


def register_decomposition(ops: Any) -> Callable[[Any], Any]:
    """A decorator: notes a function as the decomposition of ``ops``, in the place of any earlier one."""
    for op in ops if isinstance(ops, (list, tuple)) else [ops]:
        if isinstance(op, (OpOverload, OpOverloadPacket)):
            _decomp.remove_decompositions(decompositions, [op])
    return _decomp.register_decomposition(ops, decompositions)


def select_decomp_table() -> dict[Any, Callable[..., Any]]:
    """The table."""
    return decompositions
