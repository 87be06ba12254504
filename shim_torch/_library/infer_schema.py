"""A schema from the annotations of a Python function, by PyTorch's rules."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections import abc
from collections.abc import Callable, Iterable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

_SCALARS: dict[Any, str] = {
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    _core.dtype: "ScalarType",
    _core.device: "Device",
}
_LISTS = (list, abc.Sequence)
_LISTED = ("Tensor", "Tensor?", "SymInt", "float", "bool", "Scalar")  # what lists may hold
_NUMBER = {int, float, bool}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = (),
) -> str:
    """The schema text of a function; ValueError naming the parameter where an annotation is missing or unsupported.

    ``mutates_args`` names the tensor parameters it writes to, or is ``"unknown"``: then all of them.
    """
    signature = inspect.signature(prototype_function)
    hints = _hints(prototype_function)

    def refuse(what: str) -> Any:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    if isinstance(mutates_args, str) and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. "
        )
    names = mutates_args
    parts: list[str] = []
    seen_keyword = False
    for i, (name, p) in enumerate(signature.parameters.items()):
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if p.kind is p.KEYWORD_ONLY and not seen_keyword:
            parts.append("*")
            seen_keyword = True
        parts.append(_parameter_text(i, p, hints.get(name, p.annotation), names, refuse))
    if names != "unknown" and (unknown := set(names) - set(signature.parameters)):
        refuse(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should "
            "contain the names "
            "of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if signature.return_annotation is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    returns = _return_text(hints.get("return", signature.return_annotation))
    if returns is None:
        refuse(
            f"Return has unsupported type {hints.get('return', signature.return_annotation)}. The valid types are: {_valid_returns()}."
        )
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def _parameter_text(
    i: int, p: inspect.Parameter, hint: Any, names: str | Iterable[str], refuse: Callable[[str], Any]
) -> str:
    """``Tensor(a0!) x``: parameter ``i`` of a schema. ``names``: the parameters that are written to."""
    name = p.name
    if p.annotation is p.empty:
        refuse(f"Parameter {name} must have a type annotation.")
    kind = _type_text(hint)
    if kind is None:
        tuples = (
            f"We do not support Tuple inputs in schema. As a workaround, please try to use List instead. For example, "
            f"{tuple_to_list(hint)}.\n\n"
            if typing.get_origin(hint) is tuple
            else ""
        )
        refuse(f"Parameter {name} has unsupported type {hint}. {tuples}The valid types are: {_valid_types()}.")
    kind = str(kind)
    if (names == "unknown" and kind.startswith("Tensor")) or (names != "unknown" and name in names):
        if not kind.startswith("Tensor"):
            refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        kind = f"Tensor(a{i}!){kind[len('Tensor') :]}"
    default = ""
    if p.default is not p.empty:
        default = _default_text(p.default)
        if not default:
            refuse(
                f"Parameter {name} has an unsupported default value type {type(p.default)}. "
                "Please file an issue on GitHub so we can prioritize this."
            )
    return f"{kind} {name}{default}"


def _valid_types() -> Any:
    """The annotations that parameters may have, as PyTorch lists them."""
    # Python's older spellings are among them: they are what is listed.
    forms = (typing.Sequence, typing.List, abc.Sequence, list)  # noqa: UP006
    number: Any = int | float | bool
    tensor: Any = _core.Tensor
    some: Any = typing.Optional[tensor]  # noqa: UP045
    kinds: list[Any] = [tensor, some, *(form[tensor] for form in forms), *(form[some] for form in forms)]
    for plain in (int, float, bool):
        lists = [form[plain] for form in forms]  # type: ignore[valid-type, misc]
        kinds += [plain, typing.Optional[plain], *lists, *(typing.Optional[each] for each in lists)]  # noqa: UP045
    kinds += [str, typing.Optional[str], number, typing.Union[number, None]]  # noqa: UP007, UP045
    kinds += [form[number] for form in forms]
    for one in (_core.dtype, _core.device):
        kinds += [one, typing.Optional[one]]  # noqa: UP045
    return dict.fromkeys(kinds).keys()


def _valid_returns() -> dict[Any, str]:
    tensor: Any = _core.Tensor
    return {
        tensor: "Tensor", typing.List[tensor]: "Tensor[]", list[tensor]: "Tensor[]", int: "SymInt", float: "float",  # noqa: UP006
        bool: "bool", int | float | bool: "Scalar",
    }  # fmt: skip


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        # Not typing.get_type_hints, which makes ``list[int] = None`` optional in Python 3.10.
        return inspect.get_annotations(function, eval_str=True)
    except Exception:
        return {n: a for n, a in getattr(function, "__annotations__", {}).items() if not isinstance(a, str)}


def _is_tensor(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, _core.TensorBase)


def _type_text(kind: Any) -> str | None:
    if _is_tensor(kind):
        return "Tensor"
    if kind in _SCALARS:
        return _SCALARS[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or origin is types.UnionType:
        rest = [a for a in arguments if a is not type(None)]
        if set(rest) == _NUMBER:
            inner: str | None = "Scalar"
        else:
            inner = _type_text(rest[0]) if len(rest) == 1 else None
        return None if inner is None else inner + ("?" if len(rest) < len(arguments) else "")
    if origin in _LISTS and arguments:
        inner = _type_text(arguments[0])
        return f"{inner}[]" if inner in _LISTED else None
    return _opaque_text(kind)


def _opaque_text(kind: Any) -> str | None:
    """The name of a class that ``register_opaque_type`` was called for."""
    registry = sys.modules.get("shim_torch._library.opaque_object")
    info = registry.get_opaque_obj_info(kind) if registry is not None else None
    return None if info is None else str(info.class_name)


def _default_text(value: Any) -> str:
    if value is None:
        return "=None"
    if isinstance(value, str):
        return f'="{value}"'
    if isinstance(value, (bool, int, float)):
        return f"={value}"
    if isinstance(value, _core.dtype):
        return f"={str(value).rpartition('.')[2]}"
    if isinstance(value, _core.device):
        return f'="{value}"'
    return ""


def _return_text(kind: Any) -> str | None:
    if kind is None or kind is type(None):
        return "()"
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return None
        parts = [_return_text(a) for a in arguments]
        return None if None in parts else "(" + ", ".join(str(p) for p in parts) + ")"
    if _is_tensor(kind) or kind in (int, float, bool):
        return _type_text(kind)
    if origin is list and arguments and _is_tensor(arguments[0]):
        return "Tensor[]"
    return _type_text(kind) if set(arguments) == _NUMBER else None


def tuple_to_list(tuple_type: Any) -> Any:
    """``list[int]`` for ``tuple[int, int]`` and ``tuple[int, ...]``; of several types their union."""
    kinds = tuple(kind for kind in typing.get_args(tuple_type) if kind is not Ellipsis)
    return types.GenericAlias(list, typing.Union[kinds]) if kinds else list  # noqa: UP007 - of one type it is that type


SUPPORTED_RETURN_TYPES = _valid_returns()


naming.present(globals(), "torch.library")
