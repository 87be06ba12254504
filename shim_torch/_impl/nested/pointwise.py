"""Functions of one element at a time: of the values where the operands fit them, part by part where they do not."""

from __future__ import annotations

from functools import cache
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.nested.base import RULES, handles, is_nested
from shim_torch._impl.table.operators import named
from shim_torch._impl.table.record import Record
from shim_torch._impl.table.symbols import symbols
from shim_torch.nested._internal.nested_tensor import NestedTensor

# Of nn.functional: functions of Python.
_FUNCTIONS = ("dropout1d", "logsigmoid", "softsign", "tanhshrink")


def _mapped(x: Any, change: Any) -> Any:
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return type(x)(_mapped(i, change) for i in x)
    return change(x) if isinstance(x, _core.Tensor) else x


def _tensors(args: Any, kwargs: Any) -> list[Any]:
    found: list[Any] = []
    _mapped([*args, *kwargs.values()], lambda t: found.append(t))
    return found


def _refuse_shapes(func: Any, tensors: list[Any]) -> None:
    shapes = " and ".join(
        str(t.shape) if isinstance(t, NestedTensor) or not is_nested(t) else "nested" for t in tensors
    )
    raise RuntimeError(f"cannot call binary pointwise function {func.__name__}.Tensor with inputs of shapes {shapes}")


def _fits_values(x: NestedTensor, t: Any) -> bool:
    """Whether a plain tensor broadcasts with the values as it does with the rows: only dimensions after the varying one count."""
    inner = x._values.dim() - x._ragged_idx
    return t.dim() == 0 or t.dim() <= inner or all(n == 1 for n in t.shape[: t.dim() - inner]) and t.dim() <= x.dim()


def _whole(func: Any, x: NestedTensor, args: Any, kwargs: Any) -> Any:
    """One call of the values."""

    def plain(t: Any) -> Any:
        if is_nested(t):
            return t._values
        while t.dim() > x._values.dim():
            t = t.squeeze(0)
        return t

    return func(*_mapped(list(args), plain), **{k: _mapped(v, plain) for k, v in kwargs.items()})


def _by_parts(func: Any, x: Any, args: Any, kwargs: Any) -> list[Any]:
    rows = len(x.parts())
    tables = {id(t): t.parts() for t in _tensors(args, kwargs) if is_nested(t)}

    def part(i: int) -> Any:
        def of(t: Any) -> Any:
            if is_nested(t):
                return tables[id(t)][i]
            return t[i if t.shape[0] != 1 else 0] if t.dim() == x.dim() else t

        return func(*_mapped(list(args), of), **{k: _mapped(v, of) for k, v in kwargs.items()})

    return [part(i) for i in range(rows)]


def _check_structure(func: Any, x: Any, tensors: list[Any]) -> None:
    for t in tensors:
        if is_nested(t) and type(t) is not type(x):
            raise RuntimeError(f"{func.__name__}: nested tensors of two layouts do not go together")
        if isinstance(t, NestedTensor) and (t.symbol() != x.symbol() or t._ragged_idx != x._ragged_idx):
            _refuse_shapes(func, tensors)
        if is_nested(t) and t.size(0) != x.size(0):
            raise RuntimeError(f"{func.__name__}: Expected both nested tensors to have the same number of parts")
        if not is_nested(t) and (t.dim() > x.dim() or (t.dim() == x.dim() and t.shape[0] not in (1, x.size(0)))):
            _refuse_shapes(func, tensors)


def _check_strided(name: str, x: Any, tensors: list[Any]) -> None:
    nested = [t for t in tensors if is_nested(t)]
    for t in tensors:
        if not is_nested(t) and t.dim() and t.numel() != 1 and t.dim() < x.dim() and len(tensors) == 2:
            operands = "a nested self and non-nested other" if t is tensors[1] else "a non-nested self and nested other"
            raise RuntimeError(f"Expected both self and other to be nested, but got {operands}")
    if (
        name == "div"
        and len(nested) > 1
        and any(
            p.stride() != q.stride() and p.shape == q.shape
            for t in nested[1:]
            for p, q in zip(x._parts, t._parts, strict=True)
        )
    ):
        raise RuntimeError(f"{name} requires strides to match when given NestedTensors")
    if len(tensors) == 1 and not x.contiguous_parts() and _of_one_operand(name):
        raise RuntimeError("NestedTensor must be contiguous to get buffer.")


@cache
def _of_one_operand(name: str) -> bool:
    def fits(record: Record) -> bool:
        arguments = record.schema.partition("->")[0]
        only = arguments.count("Tensor") == 1 and "self" in record.arguments and "Scalar self" not in arguments
        return only and "other" not in record.arguments

    return (name in _FUNCTIONS and name != "dropout1d") or any(map(fits, named(name)))


@handles(*_FUNCTIONS)
def pointwise(func: Any, args: Any, kwargs: Any) -> Any:
    """A function of corresponding elements; numbers and plain tensors broadcast. RuntimeError for rows that differ."""
    tensors = _tensors(args, kwargs)
    x = next(t for t in tensors if is_nested(t))
    _check_structure(func, x, tensors)
    name = func.__name__.partition(".")[0]
    inplace = (name.endswith("_") and not name.endswith("__")) or name.startswith("__i") and name != "__invert__"
    inplace = inplace or kwargs.get("inplace") is True
    if isinstance(x, NestedTensor) and all(is_nested(t) or _fits_values(x, t) for t in tensors):
        found = _whole(func, x, args, kwargs)
        if inplace:
            return x
        return type(found)(map(x.with_values, found)) if isinstance(found, tuple) else x.with_values(found)
    if not isinstance(x, NestedTensor):
        _check_strided(name.strip("_"), x, tensors)
    parts = _by_parts(func, x, args, kwargs)
    if inplace:
        return args[0]
    if parts and isinstance(parts[0], tuple):
        return type(parts[0])(x.of_parts(list(column)) for column in zip(*parts, strict=True))
    return x.of_parts(parts)


def _is_pointwise(name: str) -> bool:
    """Whether a function of this name (``add``, ``add_``, ``__radd__``) computes each element by itself."""
    if name.startswith("__"):
        symbol = name.strip("_")
        known = symbols()
        record = known.get(symbol) or known.get(symbol[1:]) or (known["truediv"] if symbol in _DIVISIONS else None)
        return record is not None and record.pointwise
    found = named(name) or named(name.removesuffix("_"))
    return any(record.pointwise or record.traits.get("nested") == "pointwise" for record in found)


_DIVISIONS = ("div", "idiv", "rdiv")  # Python 2's


@handles("fill_")
def _fill(func: Any, args: Any, kwargs: Any) -> Any:
    value = args[1] if len(args) > 1 else kwargs["value"]
    if isinstance(value, _core.Tensor) and value.dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
        )
    return pointwise(func, args, kwargs)


RULES.append((_is_pointwise, pointwise))
