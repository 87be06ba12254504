"""``torch.fx.operator_schemas``: arguments of calls brought into one form, by the signatures of functions and operators."""

from __future__ import annotations

import inspect
import numbers
import types
import typing
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from shim_torch._ops import OpOverload, OpOverloadPacket

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "create_type_hint",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
    "type_matches",
]


class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments of a call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@lru_cache(maxsize=1)
def _types() -> dict[str, Any]:
    import shim_torch

    return {
        "Tensor": shim_torch.Tensor,
        "Device": shim_torch.device,
        "Layout": shim_torch.layout,
        "Generator": shim_torch.Generator,
        "number": numbers.Number,
        "dtype": int,  # as in schemas
        "str": str,
        "int": int,
        "SymInt": int,
        "bool": bool,
        "float": float,
        "complex": complex,
        "Any": Any,
        "NoneType": type(None),
    }


def _python_type(text: str) -> Any:
    """The Python type that a schema's type stands for: ``List[int]``, ``Optional[Tensor]``."""
    for name, generic in (("Optional[", typing.Optional), ("List[", list)):
        if text.startswith(name):
            return generic[_python_type(text[len(name) : -1])]
    return _types().get(text, Any)


def _signature(schema: Any) -> inspect.Signature:
    parameters: list[inspect.Parameter] = []
    for argument in schema.arguments:
        kind: Any = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        name = "input" if argument.name == "self" else argument.name
        if name == "from":  # no name of a keyword argument in Python, so what stands before it cannot be one either
            kind = inspect.Parameter.POSITIONAL_ONLY
            parameters = [p.replace(kind=kind) for p in parameters]
        annotation = _python_type(str(argument.type))
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    returns = [_python_type(str(r.type)) for r in schema.returns]
    result: Any = None if not returns else returns[0] if len(returns) == 1 else tuple(returns)
    return inspect.Signature(parameters, return_annotation=result)


def _schemas(op: Any) -> list[Any] | None:
    from shim_torch import _ops

    if isinstance(op, OpOverload):
        return [op._schema]
    if isinstance(op, OpOverloadPacket):
        return list(op._schemas.values())
    if not isinstance(op, types.BuiltinFunctionType) and type(op).__name__ != "builtin_function_or_method":
        return None
    packet = getattr(_ops.ops.aten, getattr(op, "__name__", ""), None)
    return list(packet._schemas.values()) if packet is not None else None


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """The signatures of an operator's overloads, None for what is no operator; with their schemas on request."""
    schemas = _schemas(op)
    signatures = None if schemas is None else [_signature(s) for s in schemas]
    return (signatures, schemas) if return_schemas else signatures


def _fitting(
    op: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[inspect.Signature, Any]]:
    """The signatures and schemas of the overloads that a call may be of."""
    signatures, schemas = get_signature_for_torch_op(op, return_schemas=True)
    return [pair for pair in zip(signatures or (), schemas or (), strict=True) if _binds(pair[0], args, kwargs)]


def check_for_mutable_operation(target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Errors: RuntimeError when a call is surely of an overload that writes to its arguments."""
    found = [schema for _, schema in _fitting(target, args, kwargs)]
    if [schema.is_mutable for schema in found] == [True]:
        raise RuntimeError(
            f"Tried to trace mutable operation {found[0]}. FX only supports functional code, so operations that mutate operands "
            f"in-place (e.g. via `out` arguments) are not supported"
        )


def _binds(signature: inspect.Signature, args: Any, kwargs: Any) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def create_type_hint(x: Any) -> Any:
    """The type of a list or tuple of types: of the one that all the others are subclasses of, else of Any."""
    try:
        if isinstance(x, (list, tuple)):
            base: Any = x[0] if x else Any
            for t in x:
                if not issubclass(t, base):
                    base = t if issubclass(base, t) else Any
                if base is Any:
                    break
            return list[base] if isinstance(x, list) else tuple[base, ...]  # type: ignore[valid-type]
    except TypeError:
        warnings.warn(f"We were not able to successfully create type hint from the type {x}", stacklevel=2)
    return x


def _fits_one_of(signature_type: Any, argument_type: Any) -> bool:
    return any(type_matches(part, argument_type) for part in typing.get_args(signature_type))


def _fits_list(signature_type: Any, argument_type: Any) -> bool:
    element, *_ = typing.get_args(signature_type)
    if argument_type is element is int:
        return True  # one number stands for a list of them
    if not inspect.isclass(element):
        warnings.warn(
            f"Does not support nested parametric types, got {signature_type}. Please file a bug.", stacklevel=3
        )
        return False
    kind, parts = typing.get_origin(argument_type), typing.get_args(argument_type)
    return kind in (list, tuple) and all(issubclass(part, element) for part in parts if part is not Ellipsis)


def _is_subclass(signature_type: Any, argument_type: Any) -> bool:
    return (
        inspect.isclass(argument_type) and inspect.isclass(signature_type) and issubclass(argument_type, signature_type)
    )


def _fits_int(signature_type: Any, argument_type: Any) -> bool:
    import shim_torch  # whose schemas call a dtype an int

    return argument_type is shim_torch.dtype or _is_subclass(signature_type, argument_type)


_FITS: dict[Any, Callable[[Any, Any], bool]] = {
    typing.Union: _fits_one_of,
    types.UnionType: _fits_one_of,
    list: _fits_list,
    int: _fits_int,
}


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of one type may be given where a signature has another."""
    if signature_type is argument_type:
        return True
    kind = typing.get_origin(signature_type) or signature_type
    return _FITS.get(kind, _is_subclass)(signature_type, argument_type)


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call with defaults filled in, by the function's signature; None where none fits.

    Errors: RuntimeError when several overloads fit and ``arg_types`` do not choose among them.
    """
    from shim_torch._jit_internal import boolean_dispatched

    kwargs = kwargs or {}
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        chosen: Any = target
        if target in boolean_dispatched:
            found = boolean_dispatched[target]
            chosen = found["if_true"]
            if inspect.signature(chosen).parameters != inspect.signature(found["if_false"]).parameters:
                return None
        try:
            return _normalized(inspect.signature(inspect.unwrap(chosen)), args, kwargs, normalize_to_only_use_kwargs)
        except ValueError:  # a builtin without a signature
            return None
    matched = [signature for signature, _ in _fitting(target, args, kwargs)]
    if len(matched) == 1:
        return _normalized(matched[0], args, kwargs, normalize_to_only_use_kwargs)
    if not matched:
        return None
    if arg_types is None and kwarg_types is None:
        import shim_torch

        shown = "\n".join(str(s) for s in matched)
        raise RuntimeError(
            f"Tried to normalize arguments to {shim_torch.typename(target)} but the schema match was ambiguous! Please provide "
            f"argument types to the normalize_arguments() call. Available schemas:\n{shown}"
        )
    for signature in signatures:
        if _types_fit(signature, arg_types or (), kwarg_types or {}):
            return _normalized(signature, args, kwargs, normalize_to_only_use_kwargs)
    return None


def _types_fit(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return all(type_matches(signature.parameters[name].annotation, t) for name, t in bound.arguments.items())


def normalize_module(
    root: Any,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """As :func:`normalize_function`, for a call of a module of ``torch.nn``; None for other modules.

    Errors: RuntimeError when ``root`` has no module of that name.
    """
    from shim_torch import nn

    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    if getattr(nn, type(module).__name__, None) is not type(module):
        return None
    signature = inspect.signature(inspect.unwrap(module.forward))
    return _normalized(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _normalized(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], only_kwargs: bool
) -> ArgsKwargsPair | None:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    drawn = list(signature.parameters) == ["input", "from", "to", "generator"]  # Tensor.uniform_ and its like
    if any(p.kind not in kinds for p in signature.parameters.values()) and not drawn:
        return None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    names = list(signature.parameters)
    count = 0 if only_kwargs else len(args)
    return ArgsKwargsPair(
        tuple(bound.arguments[n] for n in names[:count]), {n: bound.arguments[n] for n in names[count:]}
    )
