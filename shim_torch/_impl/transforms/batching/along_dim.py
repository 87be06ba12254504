"""Batching of operators along a dim: a dim of an item is the next dim of the batch."""

from __future__ import annotations

from functools import cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.operators import named
from shim_torch._impl.transforms.batching.fallback import loop
from shim_torch._impl.transforms.batching.registry import Call, rule, wrap

Tensor = _core.Tensor


def _names(func: Any) -> list[str]:
    return [a.name for a in func._schema.arguments]


def bound(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Arguments by name, those that are given."""
    found = dict(zip(_names(func), args, strict=False))
    found.update(kwargs)
    return found


def _defaults(func: Any, given: dict[str, Any], *names: str) -> None:
    for a in func._schema.arguments:
        if a.name in names and a.name not in given:
            given[a.name] = a.default


def called(func: Any, given: dict[str, Any]) -> Any:
    """A call with arguments by name; those that the schema has in front by position."""
    positional: list[Any] = []
    given = dict(given)
    for a in func._schema.arguments:
        if a.kwarg_only or a.name not in given:
            break
        positional.append(given.pop(a.name))
    return func(*positional, **given)


def moved(dim: int, dims: int) -> int:
    """A dim of an item as the dim of the batch."""
    if not -dims <= dim < dims:
        low, high = (-dims, dims - 1) if dims else (-1, 0)
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim % dims + 1


_DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "axis0", "axis1", "source", "destination",
         "dimension")  # fmt: skip


def _of_numbers(call: Call, given: dict[str, Any]) -> Any:
    """Items without dims are as items of one element."""
    for name in _DIMS:
        value = given.get(name)
        if isinstance(value, (list, tuple)):
            given[name] = [moved(d, 1) for d in value] or [1]
        elif isinstance(value, int) and not isinstance(value, bool):
            given[name] = moved(value, 1)
        elif name in given:
            given[name] = [1]
    given.pop("keepdim", None)
    found = called(call.func, {k: v.value.unsqueeze(1) if isinstance(v, Tensor) else v for k, v in given.items()})
    if isinstance(found, Tensor):
        return wrap(call, found.reshape(call.size))
    return tuple(wrap(call, f.reshape(call.size)) for f in found)


@cache
def _takes_numbers(name: str) -> bool:
    return any(record.traits.get("batching") == "along_dim_or_none" for record in named(name))


@rule("gather_backward")
def along_dim(call: Call, args: Any, kwargs: Any) -> Any:
    """Operators whose dims are those of their first tensor; the others have its rank."""
    given = bound(call.func, args, kwargs)
    _defaults(call.func, given, *_DIMS)
    tensors = [v for v in given.values() if isinstance(v, Tensor)]
    dims = tensors[0].dim()
    if not dims and len(tensors) == 1 and _takes_numbers(call.func._qualified_op_name.removeprefix("aten::")):
        return _of_numbers(call, given)
    if not dims or any(t.dim() != dims for t in tensors):
        return loop(call, args, kwargs)
    for name, value in given.items():
        if isinstance(value, Tensor):
            given[name] = call.whole(value)
        elif name in _DIMS and isinstance(value, int) and not isinstance(value, bool):
            given[name] = moved(value, dims)
        elif name in _DIMS and isinstance(value, (list, tuple)):
            given[name] = [moved(d, dims) for d in value] or list(range(1, dims + 1))
        elif name in _DIMS and value is None:
            if name != "dim":
                return loop(call, args, kwargs)
            given[name] = list(range(1, dims + 1))
    return wrap(call, called(call.func, given))
