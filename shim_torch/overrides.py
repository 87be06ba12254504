"""``torch.overrides``: the ``__torch_function__`` protocol from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.torch_function import (  # noqa: F401
    BaseTorchFunctionMode,
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    _enable_torch_function,
    _EnableTorchFunction,
    _get_current_function_mode,
    _get_current_function_mode_stack,
    enable_reentrant_dispatch,
    handle_torch_function,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    is_tensor_like,
    redispatch_function,
    wrap_torch_function,
)

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether the function is one of Tensor's methods that ``__torch_function__`` sees, or the getter of a property."""
    from shim_torch._impl.table.overridable_functions import methods

    return getattr(func, "__name__", None) == "__get__" or func in methods()


def resolve_name(func: Any) -> str | None:
    """``torch.add`` or ``torch.Tensor.add`` for the functions that ``__torch_function__`` sees, None for others."""
    if isinstance(func, _core.OperatorCall):
        return str(func)
    from shim_torch._impl.table.overridable_functions import functions

    return functions()[1].get(func)


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results the default ``__torch_function__`` leaves as they are."""
    names = ("_base", "grad", "_grad")
    found = (getattr(_core.Tensor, n, None) for n in names)
    return {f.__get__ for f in found if f is not None and hasattr(f, "__get__")}


def get_overridable_functions() -> dict[Any, list[Any]]:
    """The functions that ``__torch_function__`` sees, by the module or class they belong to."""
    from shim_torch._impl.table.overridable_functions import functions

    return functions()[0]


def get_testing_overrides() -> dict[Any, Callable[..., int]]:
    """For each overridable function one of the same signature, which gives -1."""
    from shim_torch._impl.table.overridable_functions import stand_ins

    return stand_ins()


def get_ignored_functions() -> set[Any]:
    """Public functions of torch that ``__torch_function__`` does not see."""
    from shim_torch._impl.table.overridable_functions import ignored

    return set(ignored())
