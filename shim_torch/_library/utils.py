"""``torch._library.utils``: questions about schemas, and what a custom operator may give back."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.schema import FunctionSchema, parse_schema
from shim_torch._ops import OpOverload


@dataclasses.dataclass
class Kernel:
    """A function and where it was registered."""

    func: Callable[..., Any]
    source: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


class RegistrationHandle:
    """What a registration gives; ``destroy`` takes it back."""

    def __init__(self, on_destroy: Callable[[], None]) -> None:
        self._on_destroy = on_destroy

    def destroy(self) -> None:
        """Undoes the registration."""
        self._on_destroy()


def get_source(stacklevel: int) -> str:
    """``file.py:42`` of the caller (1), its caller (2)…"""
    frame = sys._getframe(stacklevel)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def parse_namespace(qualname: str) -> tuple[str, str]:
    """("aten", "sin") of "aten::sin". Errors: ValueError for another form."""
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the torch.library '
            "APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def lookup_op(qualname: str) -> OpOverload:
    """The overload of "aten::add.Tensor"; the unnamed one without a dot."""
    from shim_torch._ops import ops

    namespace, name = parse_namespace(qualname)
    name, _, overload = name.partition(".")
    found: OpOverload = getattr(getattr(getattr(ops, namespace), name), overload or "default")
    return found


def is_builtin(op: OpOverload) -> bool:
    """Whether an operator is PyTorch's own."""
    if not isinstance(op, OpOverload):
        raise AssertionError(f"op must be OpOverload, got {type(op)}")
    return op.namespace in ("aten", "prim", "prims")


def _schema(given: Any) -> FunctionSchema:
    if isinstance(given, FunctionSchema):
        return given
    return parse_schema(str(given))


def is_functional_schema(schema: Any, *, allow_valid_view: bool = False) -> bool:
    """Whether an operator writes to nothing and gives something new; with ``allow_valid_view`` one view of one tensor, too."""
    found = _schema(schema)
    if found.is_mutable:
        return False
    if any(r.alias_info is not None and not r.alias_info.is_write for r in found.returns):
        tensors = [sum(str(a.type) == "Tensor" for a in part) for part in (found.arguments, found.returns)]
        return allow_valid_view and tensors == [1, 1]
    return bool(found.returns)


def is_tensor_like_type(typ: Any) -> bool:
    """Whether a schema's type is a tensor, or None for one."""
    return str(typ) in ("Tensor", "Optional[Tensor]")


def is_tensorlist_like_type(typ: Any) -> bool:
    """Whether a schema's type is a list of tensors, with None for any of it."""
    return str(typ).replace("Optional[", "").replace("]", "") == "List[Tensor"


def mutates_and_returns_first_arg(op: OpOverload) -> bool:
    """Whether an ATen operator writes to its first argument and gives it back: ``add_``."""
    schema = op._schema
    if op.namespace != "aten" or len(schema.returns) != 1 or not schema.arguments:
        return False
    back, first = schema.returns[0].alias_info, schema.arguments[0].alias_info
    if back is None or first is None or not first.is_write or len(back.after_set) != 1:
        return False
    return back.after_set == first.after_set and all(a.alias_info is None for a in schema.arguments[1:])


def fill_defaults(
    schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of a call with the schema's defaults where it gave none."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    rest = [kwargs.get(a.name, a.default) for a in positional[len(args) :]]
    named = {a.name: kwargs.get(a.name, a.default) for a in schema.arguments if a.kwarg_only}
    return (*args, *rest), named


def zip_schema(schema: FunctionSchema, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterable[tuple[Any, Any]]:
    """(argument of the schema, value) of every value that a call gave."""
    declared = schema.arguments
    surplus = len(args) + len(kwargs) - len(declared)
    if surplus > 0:
        raise AssertionError(f"schema has {len(declared)} arguments but got {len(args)} args and {len(kwargs)} kwargs")
    by_place = [a.name for a in declared if not a.kwarg_only]
    values = {**kwargs, **dict(zip(by_place, args, strict=False))}
    yield from ((a, values[a.name]) for a in declared if a.name in values)


def has_kwarg_only_args(schema: FunctionSchema) -> bool:
    """Whether a schema has arguments that are passed by name only."""
    return any(a.kwarg_only for a in schema.arguments)


def _takes_tensors(argument: Any) -> bool:
    return is_tensor_like_type(argument.type) or is_tensorlist_like_type(argument.type)


def has_kwarg_only_tensors(schema: FunctionSchema) -> bool:
    """Whether a schema has tensors that are passed by name only."""
    return any(a.kwarg_only and _takes_tensors(a) for a in schema.arguments)


def has_tensor_arg(schema: FunctionSchema) -> bool:
    """Whether any argument may be or hold a tensor."""
    return any(_takes_tensors(a) for a in schema.arguments)


def get_device_arg_index(schema: FunctionSchema) -> int | None:
    """The place of the argument ``device``; None where there is none."""
    return next((i for i, a in enumerate(schema.arguments) if a.name == "device" and str(a.type) == "Device"), None)


def iter_tensors(args: tuple[Any, ...], kwargs: dict[str, Any], allowed_nesting: int = 1) -> Iterator[Any]:
    """Every tensor among arguments, in lists and tuples up to that depth."""

    values = [*args, *kwargs.values()]
    for _ in range(allowed_nesting):  # each round opens the outermost lists, in place
        values = [x for v in values for x in (v if isinstance(v, (tuple, list)) else [v])]
    return (v for v in values if isinstance(v, _core.Tensor))


def check_aliasing_constraint(
    name: str, prev: Iterable[Any], result: Any, get_module: Callable[[], str] = lambda: "???"
) -> None:
    """Errors: RuntimeError where a result shares memory with an input or another result."""
    results = result if isinstance(result, tuple) else (result,)
    given, made = (
        [t.untyped_storage()._cdata for t in tensors]
        for tensors in (iter_tensors(tuple(prev), {}, 0), iter_tensors(results, {}))
    )
    if len({*given, *made}) == len({*given}) + len(made):
        return
    raise RuntimeError(
        f"{name} (with implementation in {get_module()}): The output of this custom operator (1) must not also be an input "
        "to this custom operator and (2) may not alias any inputs to this custom operator or other returns. The most "
        "common way to trigger this error is if we have y = custom_op(x) and y and x are the same Tensor. Please instead "
        "return a clone of the offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not "
        "return y."
    )


def mutated_args_kwargs(schema: FunctionSchema) -> tuple[list[int], list[str]]:
    """(places, names) of the arguments that are written to, the second of those that are keywords only."""
    written = [(i, a) for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
    return [i for i, a in written if not a.kwarg_only], [a.name for _, a in written if a.kwarg_only]
