"""The ``__torch_function__`` protocol: modes, switches and the calls that ask; ``torch.overrides`` shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from functools import partial, wraps
from types import TracebackType
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming

has_torch_function = _core._has_torch_function
has_torch_function_unary = _core._has_torch_function_unary
has_torch_function_variadic = _core._has_torch_function_variadic


class _Disable:
    _everything = False

    def __enter__(self) -> None:
        self._old = _core._set_torch_function_disabled(True, self._everything)
        if not self._everything and self._old[1]:
            _core._set_torch_function_disabled(True, True)

    def __exit__(self, *_: object) -> None:
        _core._set_torch_function_disabled(*self._old)


class DisableTorchFunctionSubclass(_Disable):
    """Within it, ``__torch_function__`` of tensor subclasses is not called (modes still are)."""


class DisableTorchFunction(_Disable):
    """Within it, no ``__torch_function__`` is called, neither of subclasses nor of modes."""

    _everything = True


class _EnableTorchFunction:
    """From when it is made until it is deleted, ``__torch_function__`` is called, also within what switches it off."""

    def __init__(self) -> None:
        self._old = _core._set_torch_function_disabled(False, False)

    def __del__(self) -> None:
        _core._set_torch_function_disabled(*self._old)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Calls the first ``__torch_function__`` among ``relevant_args`` that answers; TypeError if none does."""
    return _core._handle_torch_function(public_api, tuple(relevant_args), *args, **kwargs)


def redispatch_function(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Calls a function past one level of ``__torch_function__``: what it calls itself is seen again."""
    from types import FunctionType

    kwargs = {} if kwargs is None else kwargs
    if type(func) is type(vars(_core.Tensor)["__deepcopy__"]):  # a method of Tensor, written in Python
        return func.__wrapped__(*args, **kwargs)
    if not isinstance(func, FunctionType):  # operators are one level with all that they consist of
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    _core._pass_over_torch_function(True)
    try:
        return func(*args, **kwargs)
    finally:
        _core._pass_over_torch_function(False)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function overridable: ``dispatcher`` gives its relevant arguments."""
    return partial(_overridable, dispatcher)


def _overridable(dispatcher: Callable[..., Iterable[Any]], func: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(func)
    def public(*args: Any, **kwargs: Any) -> Any:
        asked = tuple(dispatcher(*args, **kwargs))
        run = partial(handle_torch_function, public, asked) if has_torch_function(asked) else func
        return run(*args, **kwargs)

    return public


def is_tensor_like(value: Any) -> bool:
    """A tensor, or something with ``__torch_function__``."""
    return isinstance(value, _core.TensorBase) or hasattr(value, "__torch_function__")


class TorchFunctionMode:
    """Sees every torch function called within ``with``: ``__torch_function__(func, types, args, kwargs)``."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> TorchFunctionMode:
        found = next(vars(c)["__torch_function__"] for c in type(self).__mro__ if "__torch_function__" in vars(c))
        if isinstance(found, classmethod):
            raise RuntimeError(
                "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method"
            )
        _core._push_on_torch_function_stack(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core._pop_torch_function_stack()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> TorchFunctionMode:
        """An instance, to be entered."""
        return cls(*args, **kwargs)


def _get_current_function_mode_stack() -> list[Any]:
    """The modes that are on, the innermost last."""
    return [_core._get_function_stack_at(i) for i in range(_core._len_torch_function_stack())]


def _get_current_function_mode() -> Any:
    """The innermost mode, or None."""
    stack = _get_current_function_mode_stack()
    return stack[-1] if stack else None


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that runs every function as it is."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@contextmanager
def _enable_torch_function() -> Any:
    old = _core._set_torch_function_disabled(False, False)
    try:
        yield
    finally:
        _core._set_torch_function_disabled(*old)


@contextmanager
def enable_reentrant_dispatch() -> Any:
    """Within it a ``__torch_dispatch__`` handler may record history."""
    old = _core._set_below_dispatch(False)
    try:
        yield
    finally:
        _core._set_below_dispatch(old)


naming.present(globals(), "torch.overrides")
