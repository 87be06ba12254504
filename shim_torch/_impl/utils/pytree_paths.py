"""Leaves of a tree with the keys that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._impl.surface import naming
from shim_torch._impl.utils import pytree
from shim_torch._impl.utils.pytree_nodes import SUPPORTED_NODES, _get_node_type


def tree_flatten_with_path(tree: Any, is_leaf: Any = None) -> tuple[list[tuple[tuple[Any, ...], Any]], pytree.TreeSpec]:
    """The leaves with the keys that lead to them, and the shape."""
    return list(_paths((), tree, is_leaf)), pytree.tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Any = None) -> list[tuple[tuple[Any, ...], Any]]:
    """(keys that lead to it, leaf) of all leaves."""
    return list(_paths((), tree, is_leaf))


def _paths(path: tuple[Any, ...], tree: Any, is_leaf: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if pytree.tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    node = SUPPORTED_NODES[_get_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """``tree_map`` with ``func(path, leaf, ...)``."""
    paths = iter([path for path, _ in _paths((), tree, is_leaf)])
    return pytree.tree_map(lambda *leaves: func(next(paths), *leaves), tree, *rests, is_leaf=is_leaf)


def keystr(kp: tuple[Any, ...]) -> str:
    """The path as Python would write it: ``['a'][0].x``."""
    return "".join(str(k) for k in kp)


def key_get(obj: Any, kp: tuple[Any, ...]) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


naming.present(globals(), "torch.utils._pytree")
