"""Functions in Python that ask ``__torch_function__`` of their tensors, as those of ``torch.functional`` do."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from shim_torch._impl.native import _core


def _override_arguments(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as PyTorch hands them on: what has no default by place, the rest by name, defaults filled in."""
    code: Any = function.__code__  # type: ignore[attr-defined]
    names = code.co_varnames[: code.co_argcount]
    only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()  # type: ignore[attr-defined]
    values = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    values |= (function.__kwdefaults__ or {}) | dict(zip(names, args, strict=False)) | kwargs  # type: ignore[attr-defined]
    if code.co_flags & 4:  # *tensors
        return list(args), {n: values[n] for n in only}
    first = names[: len(names) - len(defaults)]
    return [values[n] for n in first if n in values], {n: v for n, v in values.items() if n not in first}


def overridable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Asks ``__torch_function__`` of the arguments, lists and tuples among them looked into, before ``function`` runs."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        relevant: list[Any] = []
        for a in args:
            if isinstance(a, (list, tuple)):
                relevant.extend(a)
            else:
                relevant.append(a)
        if kwargs:
            relevant.extend(kwargs.values())
        if _core._has_torch_function(relevant):
            positional, named = _override_arguments(function, args, kwargs)
            return _core._handle_torch_function(call, relevant, *positional, **named)
        return function(*args, **kwargs)

    return call
