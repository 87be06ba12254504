"""Classes whose objects operators take as they are: reference types by identity, value types by equality."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from weakref import WeakKeyDictionary

from shim_torch._opaque_base import OpaqueBase, OpaqueBaseMeta

__all__ = [
    "MemberType",
    "OpaqueBase",
    "get_opaque_type_name",
    "is_opaque_type",
    "is_opaque_value",
    "register_opaque_type",
]


class MemberType(Enum):
    """How tracing treats a member: evaluated at once, or traced."""

    USE_REAL = "use_real"
    INLINED = "inlined"


@dataclass
class _OpaqueTypeInfo:
    class_name: str
    opaque_typ: str
    guard_fn: Callable[[Any], list[Any]] | None = None
    members: dict[str, MemberType] = field(default_factory=dict)
    hoist: bool = False
    reconstruct_fn: Callable[..., Any] | None = None


_types: WeakKeyDictionary[type, _OpaqueTypeInfo] = WeakKeyDictionary()
_by_name: dict[str, _OpaqueTypeInfo] = {}


def get_opaque_obj_info(cls: Any) -> _OpaqueTypeInfo | None:
    """What was registered for a class, one of its bases, or a registered name."""
    if isinstance(cls, str):
        return _by_name.get(cls)
    if not isinstance(cls, type):
        return None
    return next((_types[c] for c in cls.__mro__ if c in _types), None)


def get_opaque_type_name(cls: Any) -> str:
    """The name of a registered class in schemas. Errors: ValueError for any other."""
    info = get_opaque_obj_info(cls)
    if info is None:
        raise ValueError(
            f"Class {cls} is not registered as an opaque type. Call register_opaque_type({cls.__name__}) first."
        )
    return info.class_name


def _objections(cls: Any, typ: str, guard_fn: Any) -> Iterator[tuple[bool, type[Exception], str]]:
    """What a class must not be to be registered: (whether it is so, the error, its text). The first that holds counts."""
    from shim_torch import Tensor
    from shim_torch.utils._pytree import SUPPORTED_NODES

    yield (
        cls is Tensor or cls.__module__ == "builtins",
        ValueError,
        f"Unable to register built-in type {cls} as an opaque type. Please wrap it in a custom class and register the "
        "custom class as opaque.",
    )
    yield (
        cls in SUPPORTED_NODES,
        ValueError,
        f"{cls} cannot be registered as an opaque object as it has been registered as a pytree. Opaque objects must be "
        "pytree leaves.",
    )
    yield (
        typ != "value" and not isinstance(cls, OpaqueBaseMeta),
        TypeError,
        f"Opaque type {cls} must subclass torch._opaque_base.OpaqueBase or 'metaclass=torch._opaque_base.OpaqueBaseMeta'. "
        "This is required so that FakeScriptObject can be registered as a virtual subclass, allowing isinstance() checks "
        "to work during torch.compile tracing. ",
    )
    if typ == "value":
        yield from _objections_to_value(cls, guard_fn)
    else:
        yield typ != "reference", AssertionError, f"Opaque type must be either 'reference' or 'value', got {typ!r}"


def _objections_to_value(cls: Any, guard_fn: Any) -> Iterator[tuple[bool, type[Exception], str]]:
    needed = f"Value-type opaque object of type {cls} is expected to have a "
    enum = issubclass(cls, Enum)
    yield (
        not enum and cls.__eq__ is object.__eq__,
        TypeError,
        f"{needed}non-default `__eq__` implementation as we will use this in torch.compile to guard on the equality of objects.",
    )
    yield (
        cls.__hash__ is None,
        TypeError,
        f"{needed}non-default `__hash__` implementation as we will use this in torch.compile for FakeTensor caching.",
    )
    yield (
        not enum and not hasattr(cls, "__fx_repr__"),
        TypeError,
        f"{needed}`__fx_repr__` method implementation as we will use this to reconstruct the object in the FX codegen. "
        "__fx_repr__ should return a tuple of (repr_string, dict[str, type]).",
    )
    yield (
        guard_fn is not None,
        TypeError,
        f"No need to specify `guard_fn` for value-type opaque class {cls} as it will be guarded based on `__eq__`.",
    )


def register_opaque_type(
    cls: Any,
    *,
    typ: str,
    hoist: bool = False,
    guard_fn: Any = None,
    members: dict[str, MemberType] | None = None,
    reconstruct_fn: Any = None,
) -> None:
    """Lets operators take objects of a class. ``typ``: "reference" or "value".

    Errors: ValueError for built-in types, Tensor and pytree nodes; TypeError for what PyTorch asks of such classes.
    """
    for holds, error, text in _objections(cls, typ, guard_fn):
        if holds:
            raise error(text)
    name = f"{cls.__module__}.{cls.__qualname__}"
    _types[cls] = _by_name[name] = _OpaqueTypeInfo(name, typ, guard_fn, members or {}, hoist, reconstruct_fn)


def is_opaque_value(value: object) -> bool:
    """Whether the object's class is registered."""
    return is_opaque_type(type(value))


def is_opaque_type(cls: Any) -> bool:
    """Whether a class, or a name in a schema, is registered."""
    return get_opaque_obj_info(cls) is not None


def is_opaque_value_type(cls: Any) -> bool:
    """Whether the class is registered as opaque and compared by value."""
    info = get_opaque_obj_info(cls)
    return info is not None and info.opaque_typ == "value"


def is_opaque_reference_type(cls: Any) -> bool:
    """Whether the class is registered as opaque and compared by identity."""
    info = get_opaque_obj_info(cls)
    return info is not None and info.opaque_typ == "reference"


def should_hoist(cls: Any) -> bool:
    """Whether objects of the class are made inputs of a graph."""
    info = get_opaque_obj_info(cls)
    return info is not None and info.hoist


def has_members(cls: Any) -> bool:
    """Whether the class was registered with members."""
    info = get_opaque_obj_info(cls)
    return info is not None and bool(info.members)


def get_member_type(cls: Any, member_name: str) -> MemberType | None:
    """How a member of an opaque class is treated; None where it was not registered."""
    info = get_opaque_obj_info(cls)
    return info.members.get(member_name) if info is not None else None


register_opaque_type(Enum, typ="value")
