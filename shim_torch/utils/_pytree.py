"""``torch.utils._pytree``: nested containers as a list of leaves and the shape of what held them.

Containers: tuple, list, dict, OrderedDict, defaultdict, deque, named tuples, ``torch.return_types``, and what is registered.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any

from shim_torch._impl.utils.pytree import (  # noqa: F401
    _LEAF_SPEC,
    Context,
    KeyPath,
    LeafSpec,
    PyTree,
    PyTreeSpec,
    TreeSpec,
    _broadcast_to_and_flatten,
    _is_leaf,
    arg_tree_leaves,
    tree_flatten,
    tree_is_leaf,
    tree_iter,
    tree_leaves,
    tree_map,
    tree_map_,
    tree_structure,
    tree_unflatten,
    treespec_dict,
    treespec_leaf,
    treespec_pprint,
    treespec_tuple,
)
from shim_torch._impl.utils.pytree_keys import GetAttrKey, MappingKey, SequenceKey
from shim_torch._impl.utils.pytree_leaves import (  # noqa: F401
    map_only,
    tree_all,
    tree_all_only,
    tree_any,
    tree_any_only,
    tree_map_only,
    tree_map_only_,
)
from shim_torch._impl.utils.pytree_nodes import (  # noqa: F401
    BUILTIN_TYPES,
    CONSTANT_NODES,
    NO_SERIALIZED_TYPE_NAME_FOUND,
    SERIALIZED_TYPE_TO_PYTHON_TYPE,
    STANDARD_DICT_TYPES,
    SUPPORTED_NODES,
    SUPPORTED_SERIALIZED_TYPES,
    NodeDef,
    _get_node_type,
    _is_namedtuple_instance,
    _SerializeNodeDef,
    is_namedtuple,
    is_namedtuple_class,
    is_namedtuple_instance,
    is_structseq,
    is_structseq_class,
    is_structseq_instance,
)
from shim_torch._impl.utils.pytree_paths import (
    key_get,
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)
from shim_torch._impl.utils.pytree_registry import (
    _deregister_pytree_node,
    _private_register_pytree_node,
    _register_namedtuple,
    _register_pytree_node,
    is_constant_class,
    register_constant,
    register_dataclass,
    register_pytree_node,
    treespec_dumps,
    treespec_loads,
)

DumpableContext = Any
FlattenFn = Callable[[Any], Any]
UnflattenFn = Callable[[Iterable[Any], Any], Any]
ToDumpableContextFn = FromDumpableContextFn = Callable[[Any], Any]


KeyEntry = Any


__all__ = [
    "GetAttrKey", "MappingKey", "SequenceKey", "_deregister_pytree_node", "_private_register_pytree_node",
    "_register_namedtuple", "_register_pytree_node", "is_constant_class", "register_constant", "register_dataclass",
    "Context", "DumpableContext", "FlattenFn", "FromDumpableContextFn", "LeafSpec", "PyTree", "PyTreeSpec",
    "ToDumpableContextFn", "TreeSpec", "UnflattenFn", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance",
    "is_structseq", "is_structseq_class", "is_structseq_instance", "key_get", "keystr", "register_pytree_node",
    "tree_all", "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path", "tree_is_leaf",
    "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_",
    "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_dumps", "treespec_loads", "treespec_pprint",
]  # fmt: skip


def _named_parts() -> dict[str, Any]:
    """``_dict_flatten``, ``_dict_unflatten``, ``_dict_flatten_with_keys`` and so on, which libraries register again."""
    kinds = {
        "tuple": tuple,
        "list": list,
        "dict": dict,
        "ordereddict": OrderedDict,
        "defaultdict": defaultdict,
        "deque": deque,
    }
    found: dict[str, Any] = {}
    for name, kind in {**kinds, "namedtuple": namedtuple, "odict": OrderedDict}.items():
        node = SUPPORTED_NODES[kind]
        found[f"_{name}_flatten"], found[f"_{name}_unflatten"] = node.flatten_fn, node.unflatten_fn
        found[f"_{name}_flatten_with_keys"] = node.flatten_with_keys_fn
    return found


globals().update(_named_parts())
