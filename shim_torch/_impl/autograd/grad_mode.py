"""Switches for recording gradients, as context managers and decorators: those of ``torch.autograd.grad_mode`` that operators need too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.arguments import need_bool as _need_bool

_set = _core._set_grad_enabled
_get = _core.is_grad_enabled


class _Decorator:
    """A context manager that decorates functions and generators too."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: Any) -> Any:
        raise NotImplementedError

    def clone(self) -> Any:
        return type(self)()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        import inspect

        if inspect.isclass(func):
            import warnings

            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
                "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method "
                "and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            func.__init__ = self(func.__init__)  # type: ignore[misc, method-assign]
            return func
        if inspect.isgeneratorfunction(func):
            return self._generator(func)

        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return func(*args, **kwargs)

        return run

    def _generator(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            gen = func(*args, **kwargs)
            try:
                with self.clone():
                    value = gen.send(None)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with self.clone():
                            gen.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            value = gen.throw(error)
                    else:
                        with self.clone():
                            value = gen.send(sent)
            except StopIteration as stop:
                return stop.value

        return run


class _BareDecorator(_Decorator):
    """May be used without parentheses: ``@torch.no_grad``."""

    def __new__(cls, orig_func: Any = None) -> Any:
        return object.__new__(cls) if orig_func is None else cls()(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        self.prev = False


class no_grad(_BareDecorator):
    """Records nothing within."""

    def __enter__(self) -> None:
        self.prev = _get()
        _set(False)

    def __exit__(self, *exc: Any) -> None:
        _set(self.prev)


class enable_grad(_BareDecorator):
    """Records within, even inside ``no_grad``."""

    def __enter__(self) -> None:
        self.prev = _get()
        _set(True)

    def __exit__(self, *exc: Any) -> None:
        _set(self.prev)


class set_grad_enabled(_Decorator):
    """Sets recording on or off, at once; as a context manager, until its end."""

    def __init__(self, mode: bool) -> None:
        _need_bool(mode, "set_grad_enabled", "enabled")
        self.prev = _get()
        self.mode = mode
        _set(mode)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        _set(self.prev)
        return super().__call__(func)

    def __enter__(self) -> None:
        _set(self.mode)

    def __exit__(self, *exc: Any) -> None:
        _set(self.prev)

    def clone(self) -> set_grad_enabled:
        """A new context of the same mode."""
        return type(self)(self.mode)

    def __str__(self) -> str:
        return f"{type(self).__name__}(mode={self.mode})"


class inference_mode(_Decorator):
    """No recording, and tensors made within can't be recorded later."""

    def __new__(cls, mode: Any = True) -> Any:
        return object.__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.before = (_get(), _core.is_inference_mode_enabled())
        _core._set_inference_mode(self.mode)
        _set(not self.mode)

    def __exit__(self, *exc: Any) -> None:
        _set(self.before[0])
        _core._set_inference_mode(self.before[1])

    def clone(self) -> inference_mode:
        """A new context of the same mode."""
        return type(self)(self.mode)


for _class in (no_grad, enable_grad, set_grad_enabled, inference_mode):
    _class.__module__ = "torch.autograd.grad_mode"
