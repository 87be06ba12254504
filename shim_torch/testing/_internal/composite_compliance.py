"""``torch.testing._internal.composite_compliance``: questions about operators."""

from __future__ import annotations

from typing import Any

from shim_torch._ops import ops


def is_view_fn(func: Any) -> bool:
    """Whether the OpOverload gives a view: a result that shares its input's memory and writes nothing."""
    schema = func._schema
    aliases = [r.alias_info for r in schema.returns if r.alias_info is not None]
    return bool(aliases) and not any(a.is_write for a in aliases) or func.overloadpacket.__name__ == "detach"


def is_inplace_view_fn(func: Any) -> bool:
    """Whether the OpOverload changes the shape or strides of its input."""
    view = getattr(ops.aten, func.overloadpacket.__name__.removesuffix("_"), None) if is_inplace(func) else None
    return view is not None and any(is_view_fn(getattr(view, overload)) for overload in view.overloads())


def is_inplace(func: Any) -> bool:
    """Whether the OpOverload writes its input, by its name (``add_``, ``__iadd__``)."""
    name = func.overloadpacket.__name__
    return name[-1] == "_" and (name[-2:] != "__" or name[:3] == "__i")
