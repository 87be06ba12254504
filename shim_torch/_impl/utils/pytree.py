"""Nested containers as a list of leaves and the shape of what held them: ``torch.utils._pytree``."""

from __future__ import annotations

from collections import defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from shim_torch._impl.surface import naming
from shim_torch._impl.utils.pytree_nodes import (
    BUILTIN_TYPES,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    _get_node_type,
)

PyTree = Any


Context = Any


KeyPath = tuple[Any, ...]


class TreeSpec:
    """The shape of a tree: a node's type, its context (the keys of a dict) and its children's shapes; ``*`` is a leaf."""

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Any, children: Iterable[TreeSpec] = ()) -> None:
        self.type, self._context, self._children = type, context, list(children)
        self.num_children = len(self._children)
        self.num_nodes: int = 1 + sum(c.num_nodes for c in self._children)
        self.num_leaves: int = 1 if type is None else sum(c.num_leaves for c in self._children)

    @property
    def context(self) -> Any:
        """What the node's type needs beside its children: the keys of a dict, the class of a namedtuple."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The shapes of the children."""
        return self._children

    def children(self) -> list[TreeSpec]:
        """The shapes of the children, in a list of its own."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The shape of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether this is the shape of a single leaf."""
        return self.type is None

    def entries(self) -> list[Any]:
        """The keys of a dict, the places of a sequence."""
        if self.type in STANDARD_DICT_TYPES:
            return list(_dict_keys(self))
        return list(range(self.num_children))

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """A tree of this shape."""
        if not isinstance(leaves, (list, tuple)):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._build(leaves) for c in self._children], self._context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The parts of ``tree`` where this shape has leaves; ValueError when it is not at least of this shape."""
        found: list[Any] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: Any, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        kind = _get_node_type(tree)
        both_dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind != self.type and not both_dicts:
            what = "Node type" if self.type in BUILTIN_TYPES or self.type is namedtuple else "Type"
            raise ValueError(
                f"{what} mismatch; expected {self.type!r}, but got {kind if kind in SUPPORTED_NODES else type(tree)!r}."
            )
        if both_dicts:
            children = self._dict_children(tree)
        else:
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
            children = list(children)
            if len(children) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
            if context != self._context and self.type is not deque:  # of any maxlen
                raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        for spec, child in zip(self._children, children, strict=True):
            spec._flatten_up_to(child, found)

    def _dict_children(self, tree: Mapping[Any, Any]) -> list[Any]:
        keys = _dict_keys(self)
        if len(tree) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(tree)}.")
        missing, extra = set(keys) - set(tree), set(tree) - set(keys)
        if missing or extra:
            text = f"; missing key(s): {missing}" if missing else ""
            raise ValueError(f"Node keys mismatch{text}" + (f"; extra key(s): {extra}" if extra else "") + ".")
        return [tree[k] for k in keys]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type == other.type and self._context == other._context and self._children == other._children

    def __hash__(self) -> int:
        context = self._context[1] if self.type is defaultdict else self._context
        return hash((self.type, tuple(context) if isinstance(context, list) else context, tuple(self._children)))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.type is None:
            return "*"
        inner = f",\n{' ' * (indent + 2)}".join(c._text(indent + 2) for c in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"

    def __reduce__(self) -> Any:
        return TreeSpec, (self.type, self._context, self._children)


PyTreeSpec = TreeSpec


_LEAF_SPEC = TreeSpec(None, None, [])


class LeafSpec(TreeSpec):
    """The shape of a single leaf (an older name)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])

    def __reduce__(self) -> Any:
        return LeafSpec, ()


def treespec_leaf() -> TreeSpec:
    """The shape of a single leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The shape of a tuple of these children."""
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The shape of a dict with these children by their keys."""
    found = dict(mapping, **kwargs)
    return TreeSpec(dict, list(found), found.values())


def _dict_keys(spec: TreeSpec) -> list[Any]:
    return spec._context[1] if spec.type is defaultdict else spec._context


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a value is no container (or ``is_leaf`` says to stop there)."""
    return (is_leaf is not None and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


def _take(node: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> TreeSpec:
    # not a closure of tree_flatten: one that calls itself is a cycle, and would keep the leaves until the next collection
    if tree_is_leaf(node, is_leaf):
        leaves.append(node)
        return _LEAF_SPEC
    kind = _get_node_type(node)
    children, context = SUPPORTED_NODES[kind].flatten_fn(node)
    return TreeSpec(kind, context, [_take(c, is_leaf, leaves) for c in children])


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, and the shape to put them together again."""
    leaves: list[Any] = []
    return leaves, _take(tree, is_leaf, leaves)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """A tree of the given shape."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Yields the leaves."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The shape."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A tree of ``func(leaf, *leaves of rests)``."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(r) for r in rests)))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Calls ``func`` on every leaf; the tree itself is returned."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *(spec.flatten_up_to(r) for r in rests)), maxlen=0)
    return tree


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of a call's arguments."""
    return [x for a in (*args, *kwargs.values()) for x in tree_iter(a)]


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: Any = None) -> list[Any] | None:
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf():
        return None
    kind, specs = _get_node_type(tree), treespec.children()
    if kind in STANDARD_DICT_TYPES and treespec.type in STANDARD_DICT_TYPES:
        by_key = dict(zip(_dict_keys(treespec), specs, strict=True))
        if set(tree) != set(by_key):
            return None
        children, specs = list(tree.values()), [by_key[k] for k in tree]  # in the order of the tree, as PyTorch has it
    elif kind != treespec.type:
        return None
    else:
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        children = list(children)
        if len(children) != treespec.num_children or (context != treespec.context and kind is not deque):
            return None
    found: list[Any] = []
    for child, spec in zip(children, specs, strict=True):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        found += flat
    return found


def treespec_pprint(treespec: TreeSpec) -> str:
    """A shape as a text: the tree with ``*`` for each leaf."""

    class _Star:
        def __repr__(self) -> str:
            return "*"

    return repr(treespec.unflatten([_Star() for _ in range(treespec.num_leaves)]))


naming.present(globals(), "torch.utils._pytree")
