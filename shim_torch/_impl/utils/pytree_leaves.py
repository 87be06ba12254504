"""Maps over leaves of some types only, and questions about all or any leaf."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from shim_torch._impl.surface import naming
from shim_torch._impl.utils import pytree


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Makes a function that leaves other types as they are."""
    pred = _predicate(type_or_types_or_pred)

    def wrap(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def inner(x: Any) -> Any:
            return func(x) if pred(x) else x

        return inner

    return wrap


def _predicate(given: Any) -> Callable[[Any], bool]:
    from types import UnionType

    if isinstance(given, (type, tuple, UnionType)):
        return lambda x: isinstance(x, given)
    if callable(given):
        return given
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def tree_map_only(type_or_types_or_pred: Any, /, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    """``tree_map`` over leaves of some types; the others stay."""
    return pytree.tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Any, tree: Any, is_leaf: Any = None) -> Any:
    """Calls ``func`` on the leaves of some types; gives the tree back."""
    return pytree.tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether ``pred`` holds for all leaves."""
    return all(map(pred, pytree.tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether ``pred`` holds for a leaf."""
    return any(map(pred, pytree.tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Any, tree: Any, is_leaf: Any = None) -> bool:
    """Whether ``pred`` holds for all leaves of some types."""
    return all(pred(x) for x in pytree.tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Any, tree: Any, is_leaf: Any = None) -> bool:
    """Whether ``pred`` holds for a leaf of some types."""
    return any(pred(x) for x in pytree.tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


naming.present(globals(), "torch.utils._pytree")
