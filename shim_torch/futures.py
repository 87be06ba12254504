"""``torch.futures``: values that come later."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]


T = TypeVar("T")


class Future(Generic[T]):
    """A value or an exception that someone sets, and callbacks for when it is there.

    Errors:  RuntimeError for a second value, and for what a callback of ``then`` raised
    """

    __module__ = "torch.jit"

    def __init__(self, *, devices: Any = None) -> None:
        for device in devices or ():
            _check_device(device)
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: Any = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether the value is there."""
        return self._ready.is_set()

    def wait(self) -> Any:
        """The value, once it is there; raises the exception that was set."""
        self._ready.wait()
        return self.value()

    def value(self) -> Any:
        """The value; RuntimeError before it is there."""
        if not self.done():
            raise RuntimeError("completed() INTERNAL ASSERT FAILED: the Future has no value yet")
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, value: Any, error: Any) -> None:
        with self._lock:
            if self._ready.is_set():
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked completed once."
                )
            self._value, self._error = value, error
            self._ready.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def set_result(self, result: Any) -> None:
        """Sets the value and runs the callbacks."""
        self._finish(result, None)

    def set_exception(self, result: Any) -> None:
        """Sets what ``wait`` and ``value`` raise, and runs the callbacks."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _when_done(self, callback: Callable[[Future], Any]) -> None:
        with self._lock:
            if not self._ready.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Calls ``callback(self)`` once the value is there, or now; what it raises is only reported on stderr."""
        _check_callback("add_done_callback", self, callback, "None")

        def run(found: Future) -> None:
            try:
                callback(found)
            except Exception as error:
                print(_callback_error(error), file=sys.stderr)

        self._when_done(run)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what ``callback(self)`` gives."""
        _check_callback("then", self, callback, "torch._C.Future")
        made: Future[Any] = Future()

        def run(found: Future) -> None:
            try:
                result = callback(found)
            except Exception as error:
                made.set_exception(RuntimeError(_callback_error(error)))
            else:
                made.set_result(result)

        self._when_done(run)
        return made

    def __reduce_ex__(self, _: Any) -> Any:
        raise RuntimeError("Can not pickle torch.futures.Future")


def _check_device(device: Any) -> None:
    import shim_torch

    found = shim_torch.device(device)
    if found.index is None:
        raise ValueError(f"Expected devices to have indices, got {found}")
    if found.type == "cuda" and not shim_torch.cuda.is_available():
        raise RuntimeError("PyTorch is not linked with support for cuda devices")


def _check_callback(name: str, future: Any, callback: Any, gives: str) -> None:
    if not callable(callback):
        raise TypeError(
            f"{name}(): incompatible function arguments. The following argument types are supported:\n"
            f"    1. (self: torch._C.Future, arg0: collections.abc.Callable) -> {gives}\n\nInvoked with: {future!r}, {callback!r}"
        )


def _callback_error(error: BaseException) -> str:
    """The text of what a callback raised, and where, the innermost call first."""
    trace, calls = error.__traceback__, []
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") != __name__:
            code = trace.tb_frame.f_code
            calls.append(f"  {code.co_filename}({trace.tb_lineno}): {code.co_name}\n")
        trace = trace.tb_next
    where = "\n\nAt:\n" + "".join(reversed(calls)) if calls else ""
    return f"Got the following error when running the callback: {type(error).__name__}: {error}{where}"


def _futures(given: Any) -> list[Any]:
    found = list(given)
    if any(f is None for f in found):
        raise RuntimeError("Future can't be None")
    return found


def collect_all(futures: list[Future]) -> Future:
    """A future of the list, done when all are, or of the first exception among them."""
    given = _futures(futures)
    made: Future[Any] = Future()
    left = [len(given)]
    lock = threading.Lock()

    def one(_: Future) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            error = next((f._error for f in given if f._error is not None), None)
            made._finish(given if error is None else None, error)

    if not given:
        made.set_result(given)
    for f in given:
        f._when_done(one)
    return made


def wait_all(futures: list[Future]) -> list[Any]:
    """All values; raises the first exception."""
    return [f.wait() for f in collect_all(futures).wait()]
