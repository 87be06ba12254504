"""Which containers are known, and how each is taken apart and put together."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from shim_torch._impl.surface import naming


class NodeDef(NamedTuple):
    """How one type of container is taken apart and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Any, Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None


class _SerializeNodeDef(NamedTuple):
    typ: Any
    serialized_type_name: str
    to_dumpable_context: Callable[[Any], Any] | None
    from_dumpable_context: Callable[[Any], Any] | None


SUPPORTED_NODES: dict[Any, NodeDef] = {}


SUPPORTED_SERIALIZED_TYPES: dict[Any, _SerializeNodeDef] = {}


SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, Any] = {}


CONSTANT_NODES: set[type] = set()


NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


STANDARD_DICT_TYPES: frozenset[Any] = frozenset({dict, OrderedDict, defaultdict})


BUILTIN_TYPES: frozenset[Any] = frozenset({tuple, list, dict, OrderedDict, defaultdict, deque})


def is_structseq_class(cls: Any) -> bool:
    """Whether a class is like ``torch.return_types.max``."""
    return isinstance(cls, type) and cls.__bases__ == (tuple,) and isinstance(getattr(cls, "n_fields", None), int)


def is_structseq(obj: Any) -> bool:
    """Whether an object, or a class, is like ``torch.return_types.max``."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


is_structseq_instance = is_structseq


def is_namedtuple_class(cls: Any) -> bool:
    """Whether a class is a subclass of tuple with field names."""
    fields = getattr(cls, "_fields", None)
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(fields, tuple)
        and all(type(f) is str for f in fields)
        and callable(getattr(cls, "_make", None))
    )


def is_namedtuple(obj: Any) -> bool:
    """Whether an object is a namedtuple, or a class one of namedtuples."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_instance(obj: Any) -> bool:
    """Whether an object is a namedtuple; of a class False."""
    return is_namedtuple_class(type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if is_namedtuple_class(kind):
        return namedtuple
    if is_structseq_class(kind) and kind.__module__ == "torch.return_types":
        from shim_torch._impl.utils.pytree_registry import _register_structseq

        _register_structseq(kind)
    return kind


naming.present(globals(), "torch.utils._pytree")
