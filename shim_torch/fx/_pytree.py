"""``torch.fx._pytree``: nested arguments as the generated code takes them apart."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from shim_torch.utils._pytree import tree_flatten

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

SUPPORTED_NODES: dict[Any, Callable[[Any, Any], list[Any]]] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[Any, Callable[[Any, Any], bool] | None] = {}


def register_pytree_flatten_spec(
    cls: Any,
    flatten_fn_spec: Callable[[Any, Any], list[Any]],
    flatten_fn_exact_match_spec: Callable[[Any, Any], bool] | None = None,
) -> None:
    """How a class is taken apart as a spec says: ``flatten_fn_spec(value, spec)`` gives its children."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(pytree: Any, spec: Any) -> list[Any]:
    """The leaves of nested values that are nested as ``spec`` says, in its order; what it does not name is left out.

    Errors: RuntimeError where a value of a class that is not registered is nested otherwise.
    """
    if spec.is_leaf():
        return [pytree]
    if spec.type not in SUPPORTED_NODES:
        leaves, found = tree_flatten(pytree)
        if found != spec:
            raise RuntimeError(
                f"Real spec {found} of object {pytree} is different from expected spec {spec}. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml"
            )
        return leaves
    children = SUPPORTED_NODES[spec.type](pytree, spec)
    return [
        leaf
        for child, below in zip(children, spec.children(), strict=False)
        for leaf in tree_flatten_spec(child, below)
    ]


def _in_place(values: Any, spec: Any) -> list[Any]:
    return [values[i] for i in range(spec.num_children)]


def _as_long(values: Any, spec: Any) -> bool:
    return len(values) == spec.num_children


register_pytree_flatten_spec(dict, lambda d, spec: [d[k] for k in spec.context], _as_long)
for _kind in (list, tuple, namedtuple):
    register_pytree_flatten_spec(_kind, _in_place, _as_long)
