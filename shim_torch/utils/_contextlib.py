"""``torch.utils._contextlib``: context managers that decorate functions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from shim_torch._impl.autograd.grad_mode import _BareDecorator, _Decorator

__all__ = ["context_decorator"]

_DecoratorContextManager = _Decorator
_NoParamDecoratorContextManager = _BareDecorator


class _Of(_Decorator):
    """The decorator of any context manager, or of what makes them."""

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make = make

    def clone(self) -> Any:
        return self._make()


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """``func`` run within ``ctx``: a context manager that may be entered more than once, or a callable that makes one.

    Errors: TypeError for what is neither.
    """
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise TypeError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which "
            "interface to use.  If you intended to pass a context manager factory, rewrite your call as "
            "context_decorator(lambda: ctx()); if you intended to pass a context manager directly, rewrite your call as "
            "context_decorator(lambda: ctx)"
        )
    return _Of((lambda: ctx) if not callable(ctx) else ctx)(func)
