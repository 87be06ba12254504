"""``torch._jit_internal``: what libraries write with TorchScript in mind. To Python the marks say nothing."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar, Union, get_args, get_origin

from shim_torch.futures import Future
from shim_torch.jit import export, ignore, is_scripting, unused
from shim_torch.jit import isinstance as _isinstance
from shim_torch.jit.annotations import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
    BroadcastingListCls,
)

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "BroadcastingList4",
    "BroadcastingList5",
    "BroadcastingList6",
    "BroadcastingListCls",
    "Final",
    "FunctionModifiers",
    "Future",
    "_copy_to_script_wrapper",
    "_isinstance",
    "boolean_dispatch",
    "boolean_dispatched",
    "export",
    "ignore",
    "is_scripting",
    "unused",
]
F = TypeVar("F", bound=Callable[..., Any])
boolean_dispatched: weakref.WeakKeyDictionary[Callable[..., Any], dict[str, Any]] = weakref.WeakKeyDictionary()
_overloaded_fns: dict[str, list[Callable[..., Any]]] = {}
_overloaded_methods: dict[str, dict[str, list[Callable[..., Any]]]] = {}


class FunctionModifiers:
    """How a function was marked."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from an exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def _marked(fn: F, how: str) -> F:
    fn._torchscript_modifier = how  # type: ignore[attr-defined]
    return fn


def should_drop(fn: Any) -> bool:
    """Whether TorchScript would leave the function out."""
    return get_torchscript_modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers._DROP)


def module_has_exports(mod: Any) -> bool:
    """Whether a method of the module is marked ``export``."""
    found = (getattr(type(mod), name, None) for name in dir(type(mod)))
    return any(get_torchscript_modifier(f) == FunctionModifiers.EXPORT for f in found)


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str | None,
    func_name: str | None,
) -> Callable[..., Any]:
    """A function that calls ``if_true`` or ``if_false`` by the argument ``arg_name``, the positional one of ``arg_index``.

    Both get all arguments. One of them may have a docstring, which is that of both. Errors: RuntimeError when both have one.
    """
    documents = [f.__doc__ for f in (if_true, if_false) if f.__doc__ is not None]
    if len(documents) > 1:
        raise RuntimeError("only one function can have a docstring")

    def fn(*args: Any, **kwargs: Any) -> Any:
        flag = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if flag else if_false)(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ = if_false.__doc__ = documents[0] if documents else None
    if module_name is not None:
        fn.__module__ = module_name
    if func_name is not None:
        fn.__name__ = func_name
    boolean_dispatched[fn] = {
        "if_true": if_true,
        "if_false": if_false,
        "index": arg_index,
        "default": default,
        "arg_name": arg_name,
    }
    return fn


def _qualified_name(obj: Any, mangle_name: bool = True) -> str:
    """The dotted name of a class or function, as TorchScript writes it."""
    found = getattr(obj, "_jit_override_qualname", None)
    if found is not None:
        return str(found)
    name = "_lambda" if obj.__name__ == "<lambda>" else obj.__name__
    module = "torch" if obj.__module__ == "torch._classes" else obj.__module__
    if module is None:
        raise RuntimeError(f"Could not get qualified name for class '{name}': __module__ can't be None.")
    if mangle_name and module == "__main__":
        module = "__torch__"
    return f"{module}.{name}"


def _overload(func: F) -> F:
    """Notes a signature of a function."""
    _overloaded_fns.setdefault(_qualified_name(func), []).append(func)
    return func


def _get_fn_overloads(qual_name: str) -> list[Callable[..., Any]] | None:
    return _overloaded_fns.get(qual_name)


def _clear_fn_overloads(qual_name: str) -> None:
    del _overloaded_fns[qual_name]


def _overload_method(func: F) -> F:
    """Notes a signature of a method."""
    owner = func.__qualname__.rpartition(".")[0].rpartition(".")[2]
    _overloaded_methods.setdefault(_qualified_name(func), {}).setdefault(owner, []).append(func)
    return func


def _copy_to_script_wrapper(fn: F) -> F:
    """Marks a method; it is called as it is."""
    fn._torchscript_modifier = FunctionModifiers.COPY_TO_SCRIPT_WRAPPER  # type: ignore[attr-defined]
    return fn


def _drop(fn: F) -> F:
    """Marks a function; it is called as it is."""
    fn._torchscript_modifier = FunctionModifiers._DROP  # type: ignore[attr-defined]
    return fn


def get_torchscript_modifier(fn: Any) -> str | None:
    """How a function or method was marked; None for what is no function."""
    if not callable(fn):
        return None
    return getattr(getattr(fn, "__func__", fn), "_torchscript_modifier", FunctionModifiers.DEFAULT)


def is_ignored_fn(fn: Any) -> bool:
    """Whether it was marked with ``ignore`` or ``unused``."""
    return get_torchscript_modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers.IGNORE, FunctionModifiers._DROP)


def is_final(ann: Any) -> bool:
    """Whether an annotation is ``Final`` or ``Final[...]``."""
    return ann is Final or get_origin(ann) is Final


def _no_parameters(ann: Any, kind: type, name: str) -> None:
    if ann is kind or getattr(ann, "_name", None) == name and not get_args(ann):
        raise RuntimeError(
            f"Attempted to use {name} without a contained type. Please add a contained type, e.g. {name}[int]"
        )


def is_tuple(ann: Any) -> bool:
    """Whether an annotation is a tuple type. Errors: RuntimeError for one without its elements' types."""
    _no_parameters(ann, tuple, "Tuple")
    return get_origin(ann) is tuple


def is_list(ann: Any) -> bool:
    """Whether an annotation is a list type. Errors: RuntimeError for one without its elements' type."""
    _no_parameters(ann, list, "List")
    return get_origin(ann) is list


def is_dict(ann: Any) -> bool:
    """Whether an annotation is a dict type. Errors: RuntimeError for one without its types."""
    _no_parameters(ann, dict, "Dict")
    return get_origin(ann) is dict


def is_union(ann: Any) -> bool:
    """Whether an annotation is a union, of either spelling."""
    return get_origin(ann) in (Union, types.UnionType)


def is_optional(ann: Any) -> bool:
    """Whether an annotation is a union with None."""
    return is_union(ann) and type(None) in get_args(ann)
