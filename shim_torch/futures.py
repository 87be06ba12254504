"""``torch.futures``: values that come later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from shim_torch._missing import asked_of as _asked_of

__all__ = ["Future", "collect_all", "wait_all"]


T = TypeVar("T")


class Future(Generic[T]):
    """A value or an exception that someone sets, and callbacks for when it is there."""

    def __init__(self, *, devices: Any = None) -> None:
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
            raise RuntimeError("Future is not completed")
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
        self._finish(result, None)

    def set_exception(self, result: Any) -> None:
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Calls ``callback(self)`` once the value is there, or now."""
        with self._lock:
            if not self._ready.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """A future of what ``callback(self)`` gives."""
        made: Future[Any] = Future()

        def run(found: Future) -> None:
            try:
                result = callback(found)
            except Exception as error:
                made.set_exception(error)
            else:
                made.set_result(result)

        self.add_done_callback(run)
        return made


def collect_all(futures: list[Future]) -> Future:
    """A future of the list, done when all are."""
    made: Future[Any] = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def one(_: Future) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            made.set_result(futures)

    if not futures:
        made.set_result(futures)
    for f in futures:
        f.add_done_callback(one)
    return made


def wait_all(futures: list[Future]) -> list[Any]:
    """All values; raises the first exception."""
    return [f.wait() for f in collect_all(futures).wait()]

__getattr__ = _asked_of(__name__)
