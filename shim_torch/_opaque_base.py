"""The base of classes whose objects operators take as they are (``torch._library.opaque_object``)."""

from __future__ import annotations

from typing import Any

__all__ = ["OpaqueBase", "OpaqueBaseMeta"]


class OpaqueBaseMeta(type):
    """The metaclass that registered reference types must have. ``isinstance(x, OpaqueBase)`` asks the registry."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is OpaqueBase:
            from shim_torch._library.opaque_object import is_opaque_value

            return is_opaque_value(instance)
        return super().__instancecheck__(instance)


class OpaqueBase(metaclass=OpaqueBaseMeta):
    """A base class for opaque types."""
