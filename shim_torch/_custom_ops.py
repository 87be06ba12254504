"""``torch._custom_ops``: the first form of custom operators by functions; ``torch.library`` is what took its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from shim_torch import library
from shim_torch._custom_op.impl import (
    _custom_op_with_schema,
    _find_custom_op,
    checked_name,
    infer_schema,
    parse_qualname,
    validate_namespace,
)

get_ctx = library.get_ctx


def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
    """Declares the operator "ns::name", by a schema or a function's annotations (a decorator without either)."""
    validate_namespace(parse_qualname(qualname)[0])
    match func_or_schema:
        case None:
            return partial(_declared, qualname)
        case str():
            _custom_op_with_schema(qualname, func_or_schema)
            return None
        case _:
            return _declared(qualname, func_or_schema)


def _declared(qualname: str, func: Any) -> Any:
    """The function itself, once the operator of its annotations is there."""
    checked_name(qualname, func)
    _custom_op_with_schema(qualname, infer_schema(func, mutates_args=()))
    return func


def impl(
    qualname: str, *, device_types: str | Iterable[str] = ("cpu", "cuda"), func: Callable[..., Any] | None = None
) -> Any:
    """Registers an implementation for device types; a decorator without ``func``."""

    def inner(f: Callable[..., Any]) -> Callable[..., Any]:
        _find_custom_op(qualname, also_check_torch_library=True).impl(device_types, _stacklevel=3)(f)
        return f

    return inner if func is None else inner(func)


def impl_abstract(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """Registers the fake kernel, for tensors without values; a decorator without ``func``."""
    return library.register_fake(qualname, func)


def impl_save_for_backward(qualname: str, *, func: Callable[..., Any] | None = None) -> Any:
    """Registers what backward needs, ``func(inputs, output)``; a decorator without ``func``."""

    def inner(f: Callable[..., Any]) -> Callable[..., Any]:
        _find_custom_op(qualname, also_check_torch_library=True).impl_save_for_backward(_stacklevel=3)(f)
        return f

    return inner if func is None else inner(func)


def impl_backward(
    qualname: str, output_differentiability: list[bool] | None = None, *, func: Callable[..., Any] | None = None
) -> Any:
    """Registers the gradients, ``func(ctx, saved, *grads)``, a dict by argument; a decorator without ``func``."""

    def inner(f: Callable[..., Any]) -> Callable[..., Any]:
        _find_custom_op(qualname, also_check_torch_library=True).impl_backward(output_differentiability, _stacklevel=3)(
            f
        )
        return f

    return inner if func is None else inner(func)


def _destroy(qualname: str) -> None:
    """Forgets an operator: for tests."""
    _find_custom_op(qualname)._destroy()
