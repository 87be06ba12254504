"""The container types that ``_pytree`` knows, adding to them, and shapes as JSON."""

from __future__ import annotations

import enum
import importlib
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.utils import pytree_nodes as tree
from shim_torch._impl.utils.pytree import _LEAF_SPEC, TreeSpec
from shim_torch._impl.utils.pytree_keys import GetAttrKey, MappingKey, SequenceKey


def _private_register_pytree_node(
    cls: Any, flatten_fn: Callable[[Any], tuple[Any, Any]], unflatten_fn: Callable[[Iterable[Any], Any], Any], *,
    serialized_type_name: str | None = None, to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    flatten_with_keys_fn: Callable[[Any], tuple[Any, Any]] | None = None,
) -> None:  # fmt: skip
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    name = serialized_type_name or tree.NO_SERIALIZED_TYPE_NAME_FOUND
    tree.SUPPORTED_NODES[cls] = tree.NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    tree.SUPPORTED_SERIALIZED_TYPES[cls] = tree._SerializeNodeDef(cls, name, to_dumpable_context, from_dumpable_context)
    tree.SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def register_pytree_node(cls: Any, flatten_fn: Any, unflatten_fn: Any, **options: Any) -> None:
    """Makes a class a container.

    flatten_fn: instance -> (children, context); unflatten_fn: (children, context) -> instance.
    """
    if cls in tree.SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _register_pytree_node(
    cls: Any, flatten_fn: Any, unflatten_fn: Any, to_str_fn: Any = None, maybe_from_str_fn: Any = None, **options: Any
) -> None:
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **options)


def _deregister_pytree_node(cls: Any) -> None:
    del tree.SUPPORTED_NODES[cls]
    found = tree.SUPPORTED_SERIALIZED_TYPES.pop(cls)
    tree.SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(found.serialized_type_name, None)


def register_dataclass(
    cls: Any, *, field_names: Any = None, drop_field_names: Any = None, serialized_type_name: str | None = None
) -> None:
    """Makes a dataclass a container of its fields; fields that are None go to the context."""
    import dataclasses

    if not dataclasses.is_dataclass(cls) and field_names is None:
        raise ValueError(
            "field_names must be specified with a list of all fields used to initialize the class, as it is not a dataclass."
        )
    names = list(field_names) if field_names is not None else [f.name for f in dataclasses.fields(cls) if f.init]
    names = [n for n in names if n not in set(drop_field_names or ())]

    def split(obj: Any) -> tuple[list[str], list[str]]:
        given = [n for n in names if getattr(obj, n) is not None]
        return given, [n for n in names if n not in given]

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        given, none = split(obj)
        return [getattr(obj, n) for n in given], [given, none]

    def flatten_with_keys(obj: Any) -> tuple[list[Any], Any]:
        given, none = split(obj)
        return [(GetAttrKey(n), getattr(obj, n)) for n in given], [given, none]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        given, none = context
        return cls(**dict(zip(given, values, strict=True)), **dict.fromkeys(none))

    _private_register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


def register_constant(cls: Any) -> None:
    """Makes instances of a class part of a tree's shape: they have no leaves and are compared with ``==``."""
    if cls.__eq__ is object.__eq__:
        raise TypeError(
            f"register_constant(cls) expects `cls` to have a non-default `__eq__` implementation, but {cls} has not."
        )
    tree.CONSTANT_NODES.add(cls)

    def flatten(x: Any) -> tuple[list[Any], Any]:
        return [], x

    _private_register_pytree_node(cls, flatten, lambda _, context: context, flatten_with_keys_fn=flatten)


def is_constant_class(cls: Any) -> bool:
    """Whether ``register_constant`` was called for a class."""
    return isinstance(cls, type) and cls in tree.CONSTANT_NODES


def _keyed(values: Iterable[Any]) -> list[Any]:
    return [(SequenceKey(i), v) for i, v in enumerate(values)]


def _register_structseq(cls: Any) -> None:
    _private_register_pytree_node(
        cls,
        lambda x: (list(x), None),
        lambda values, _: cls(tuple(values)),
        flatten_with_keys_fn=lambda x: (_keyed(x), None),
    )


def _mapping_keys(d: Any) -> list[Any]:
    return [(MappingKey(k), v) for k, v in d.items()]


def _register_builtin() -> None:
    add = _private_register_pytree_node
    for kind, name in ((tuple, "builtins.tuple"), (_core.Size, "torch.Size")):  # a Size of other leaves is none
        add(
            kind,
            lambda t: (list(t), None),
            lambda v, _: tuple(v),
            serialized_type_name=name,
            flatten_with_keys_fn=lambda t: (_keyed(t), None),
        )
    add(
        list,
        lambda t: (t, None),
        lambda v, _: list(v),
        serialized_type_name="builtins.list",
        flatten_with_keys_fn=lambda t: (_keyed(t), None),
    )
    for kind, name in ((dict, "builtins.dict"), (OrderedDict, "collections.OrderedDict")):
        add(
            kind,
            lambda d: (list(d.values()), list(d)),
            lambda v, keys, kind=kind: kind(zip(keys, v, strict=True)),  # type: ignore[misc]
            serialized_type_name=name,
            flatten_with_keys_fn=lambda d: (_mapping_keys(d), list(d)),
        )
    add(
        defaultdict,
        lambda d: (list(d.values()), [d.default_factory, list(d)]),
        lambda v, c: defaultdict(c[0], zip(c[1], v, strict=True)),
        serialized_type_name="collections.defaultdict",
        to_dumpable_context=_factory_to_json,
        from_dumpable_context=_factory_from_json,
        flatten_with_keys_fn=lambda d: (_mapping_keys(d), [d.default_factory, list(d)]),
    )
    add(
        deque,
        lambda d: (list(d), d.maxlen),
        lambda v, maxlen: deque(v, maxlen=maxlen),
        serialized_type_name="collections.deque",
        flatten_with_keys_fn=lambda d: (_keyed(d), d.maxlen),
    )
    add(
        namedtuple,
        lambda t: (list(t), type(t)),
        lambda v, cls: cls(*v),
        serialized_type_name="collections.namedtuple",
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=lambda t: ([(GetAttrKey(n), getattr(t, n)) for n in t._fields], type(t)),
    )


def _register_namedtuple(cls: Any, *, serialized_type_name: str) -> None:
    """Gives a namedtuple class the name under which ``treespec_dumps`` writes it."""
    _private_register_pytree_node(
        cls,
        lambda t: (list(t), type(t)),
        lambda v, kind: kind(*v),
        serialized_type_name=serialized_type_name,
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=lambda t: ([(GetAttrKey(n), getattr(t, n)) for n in t._fields], type(t)),
    )


def _namedtuple_serialize(context: Any) -> str:
    found = tree.SUPPORTED_SERIALIZED_TYPES.get(context)
    if found is None or found.serialized_type_name == tree.NO_SERIALIZED_TYPE_NAME_FOUND:
        why = "didn't register a" if found is None else "couldn't find a"
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we {why} serializated_type_name. Please "
            "register using `_register_namedtuple`."
        )
    return str(found.serialized_type_name)


def _namedtuple_deserialize(name: str) -> Any:
    if name not in tree.SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a serializated name."
        )
    return tree.SERIALIZED_TYPE_TO_PYTHON_TYPE[name]


def _named(module: str, qualified: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in qualified.split("."):
        found = getattr(found, part)
    return found


def _factory_to_json(context: Any) -> dict[str, Any]:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _factory_from_json(written: dict[str, Any]) -> list[Any]:
    return [_named(written["default_factory_module"], written["default_factory_name"]), written["dict_context"]]


def _enum_to_json(value: Any) -> dict[str, Any]:
    if not isinstance(value, enum.Enum):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    kind = type(value)
    return {"__enum__": True, "fqn": f"{kind.__module__}:{kind.__qualname__}", "name": value.name}


def _enum_from_json(written: dict[str, Any]) -> Any:
    return _named(*written["fqn"].split(":"))[written["name"]] if "__enum__" in written else written


_PROTOCOL = 1


def treespec_dumps(treespec: Any, protocol: int | None = None) -> str:
    """A shape as JSON; NotImplementedError for types registered without ``serialized_type_name``."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"treespec_dumps(treespec, protocol): Expected `treespec` to be instance of TreeSpec but got {type(treespec)}."
        )
    if protocol not in (None, _PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return json.dumps((_PROTOCOL, _to_json(treespec)))


def _to_json(spec: Any) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    found = tree.SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if found is None or found.serialized_type_name == tree.NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    context = (
        found.to_dumpable_context(spec.context)
        if found.to_dumpable_context
        else json.dumps(spec.context, default=_enum_to_json)
    )
    return {
        "type": found.serialized_type_name,
        "context": context,
        "children_spec": [_to_json(c) for c in spec.children()],
    }


def treespec_loads(serialized: str) -> Any:
    """The shape that ``treespec_dumps`` wrote."""
    protocol, schema = json.loads(serialized)
    if protocol != _PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{_PROTOCOL}]")
    return _from_json(schema)


def _from_json(schema: dict[str, Any]) -> Any:
    if schema["type"] is None:
        return _LEAF_SPEC
    kind = tree.SERIALIZED_TYPE_TO_PYTHON_TYPE.get(schema["type"])
    if kind is None:
        raise KeyError(f"{schema['type']} is not a registered type name")
    found = tree.SUPPORTED_SERIALIZED_TYPES[kind]
    context = (
        found.from_dumpable_context(schema["context"])
        if found.from_dumpable_context
        else json.loads(schema["context"], object_hook=_enum_from_json)
    )
    return TreeSpec(kind, context, [_from_json(c) for c in schema["children_spec"]])


_register_builtin()

naming.present(globals(), "torch.utils._pytree")
