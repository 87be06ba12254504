"""``torch.fx._pytree``: nested arguments as the generated code takes them apart."""

from __future__ import annotations

from typing import Any

from shim_torch.utils._pytree import tree_flatten

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(pytree: Any, spec: Any) -> list[Any]:
    """The leaves of nested values, which must be nested as ``spec`` says."""
    leaves, found = tree_flatten(tuple(pytree) if spec.type is tuple and isinstance(pytree, list) else pytree)
    if found.num_leaves != spec.num_leaves:
        raise ValueError(f"expected {spec.num_leaves} values nested as {spec}, got {found.num_leaves} nested as {found}")
    return leaves
