"""``torch._export.utils``: questions about operators that are asked where nothing is exported too."""

from __future__ import annotations

from typing import Any

from shim_torch._ops import OpOverload


def _is_cia_op(op: Any) -> bool:
    """Whether an operator is one that PyTorch runs as other operators, at every level."""
    return isinstance(op, OpOverload) and op._can_decompose()


def _is_aten_op(op: Any) -> bool:
    return isinstance(op, OpOverload) and op.namespace == "aten"


def _is_custom_op(op: Any) -> bool:
    """Whether an operator comes from a library."""
    return isinstance(op, OpOverload) and op.namespace not in ("prim", "prims", "aten")


def _is_preservable_cia_op(op: Any) -> bool:
    """Whether an operator of others may stay whole in a graph: it neither writes nor shares memory."""
    return _is_cia_op(op) and all(a.alias_info is None for a in op._schema.arguments)
