"""An overload of ``torch.ops.aten`` made of another one that is there: with out=, in place, functional, or with numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.aten import complete
from shim_torch._impl.table.schema import Argument, FunctionSchema, parse_schema

_NUMBERS = ("number", "Tensor")


def _of(qualified: str) -> list[FunctionSchema]:
    return [FunctionSchema(_core.operator_schema(qualified, o)) for o in _core.operator_overloads(qualified)]


def _same(a: Argument, b: Argument) -> bool:
    return a.name == b.name and (
        str(a.type) == str(b.type) or {str(a.type), str(b.type)} == {"Optional[number]", "Optional[Tensor]"}
    )


def _same_but_numbers(a: Argument, b: Argument) -> bool:
    return _same(a, b) or (a.name == b.name and str(a.type) in _NUMBERS and str(b.type) in _NUMBERS)


def _alike(given: list[Argument], other: FunctionSchema, same: Callable[[Argument, Argument], bool]) -> bool:
    return len(given) == len(other.arguments) and all(map(same, given, other.arguments))


def derive(text: str) -> bool:
    """Defines the overload of this schema; False where none that is there gives it."""
    schema = parse_schema(text)
    for name in (schema.name.removesuffix("_"), f"{schema.name}_"):
        if name != schema.name:
            complete(name.removeprefix("aten::"))
    outs = [a for a in schema.arguments if a.kwarg_only and a.is_write]
    if outs:
        return _with_outs(text, schema, outs)
    if schema.name.endswith("_") and schema.arguments and schema.arguments[0].is_write:
        if _from(text, schema.name[:-1], schema.arguments, _same):
            return True
    if _from(text, schema.name, schema.arguments, _same_but_numbers):
        return True
    return not schema.is_mutable and _functional(text, schema)


def _from(text: str, qualified: str, given: list[Argument], same: Callable[[Argument, Argument], bool]) -> bool:
    writes = len(given) < len(parse_schema(text).arguments) or qualified != parse_schema(text).name
    for other in _of(qualified):
        if any(a.kwarg_only and a.is_write for a in other.arguments) or not _alike(given, other, same):
            continue
        if not writes and parse_schema(text).is_mutable != other.is_mutable:
            continue
        _core.derive(text, qualified, other.overload_name)
        return True
    return False


def _with_outs(text: str, schema: FunctionSchema, outs: list[Argument]) -> bool:
    given = schema.arguments[: -len(outs)]
    if _from(text, schema.name, given, _same):
        return True
    return _writes_results(text, schema, outs)


_SETTLED = {"dtype", "layout", "device", "pin_memory"}  # what the out= tensor of a factory says


def _writes_results(text: str, schema: FunctionSchema, outs: list[Argument]) -> bool:
    """Of factories: the functional overload takes dtype, layout, device and pin_memory too, which the outs settle."""
    given = schema.arguments[: -len(outs)]
    for other in _of(schema.name):
        if any(a.is_write for a in other.arguments) or not any(a.name in _SETTLED for a in other.arguments):
            continue
        asked = [a for a in other.arguments if a.name not in _SETTLED]
        if [a.name for a in asked] == [a.name for a in given] and all(map(_same, given, asked)):
            define(text, _fill_out(other, given))
            return True
    return False


def _fill_out(other: FunctionSchema, given: list[Argument]) -> Callable[..., Any]:
    split = sum(not a.kwarg_only for a in given)
    names = [a.name for a in given[split:]]

    def body(*bound: Any) -> Any:
        *values, out = bound
        keywords = dict(zip(names, values[split:], strict=True))
        made = _core.OperatorCall(other.name, other.overload_name)(
            *values[:split], **keywords, dtype=out.dtype, device=out.device
        )
        if out.shape != made.shape:
            out.resize_(made.shape)
        return out.copy_(made)

    return body


def _functional(text: str, schema: FunctionSchema) -> bool:
    """The operator that leaves its arguments alone, of the one that writes them: what would be written are its results."""
    for name in (f"{schema.name}_", schema.name.removesuffix("_functional")):
        if name == schema.name:
            continue
        for other in _of(name):
            if (
                not other.is_mutable
                or not _alike(schema.arguments, other, _same)
                or any(a.is_out for a in other.arguments)
            ):
                continue
            define(text, _on_copies(other, schema))
            return True
    return False


def _on_copies(other: FunctionSchema, schema: FunctionSchema) -> Callable[..., Any]:
    name, overload = other.name, other.overload_name
    written = [i for i, a in enumerate(other.arguments) if a.is_write]
    own = [i for i, r in enumerate(other.returns) if r.alias_info is None]
    split = sum(not a.kwarg_only for a in other.arguments)
    names = [a.name for a in other.arguments]

    def body(*bound: Any) -> Any:
        values = list(bound)
        for i in written:
            values[i] = [t.clone() for t in values[i]] if isinstance(values[i], (list, tuple)) else _copied(values[i])
        made = _core.OperatorCall(name, overload)(
            *values[:split], **dict(zip(names[split:], values[split:], strict=True))
        )
        results = made if isinstance(made, (tuple, list)) and len(other.returns) > 1 else (made,)
        found = (*(results[i] for i in own), *(values[i] for i in written))
        return found[0] if len(schema.returns) == 1 else tuple(found)

    return body


def _copied(value: Any) -> Any:
    return None if value is None else value.clone()


def define(text: str, body: Callable[..., Any]) -> None:
    """A composite that only ``torch.ops`` has."""
    from shim_torch._impl.table.operators import define as define_record
    from shim_torch._impl.table.operators import records
    from shim_torch._impl.table.record import composite

    composite(text, function=False, method=False, ops_only=True)(body)
    define_record(records()[_core.schema_names(text)[3]])
