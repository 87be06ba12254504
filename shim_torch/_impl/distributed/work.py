"""What an asynchronous collective gives back."""

from __future__ import annotations

import atexit
import threading
from datetime import timedelta
from typing import Any

from shim_torch._impl.distributed.failures import DistBackendError
from shim_torch._impl.distributed.timeouts import duration
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch.futures import Future

_waiters: set[threading.Thread] = set()


class Work:
    """A collective that runs, or is done; ``tensors``: what it writes to. Losing it does not end it."""

    def __init__(self, tensors: Any = (), running: Any = None, future_value: Any = None) -> None:
        self._tensors = list(tensors)
        self._running = running  # the core's; None: it is done
        self._future_value = self._tensors if future_value is None else future_value

    def wait(self, timeout: timedelta | float = timedelta(0)) -> bool:
        """True, once the work is done. Errors: DistBackendError for a rank that is gone, and after the timeout (0: the group's)."""
        timeout = duration(timeout)
        if self._running is not None:
            self._running.wait(0 if not timeout else max(1, int(timeout / timedelta(milliseconds=1))))
        return True

    def is_completed(self) -> bool:
        """Whether it ended, well or not; returns at once."""
        return self._running is None or bool(self._running.test())

    def is_success(self) -> bool:
        """Whether it ended well."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> DistBackendError | None:
        """What ``wait`` would raise, None for a work that did not fail."""
        error = None if self._running is None else self._running.error
        return None if error is None else DistBackendError(error)

    def synchronize(self) -> None:
        """Waits."""
        self.wait()

    block_current_stream = synchronize

    def source_rank(self) -> int:
        """The rank in the group that a receive got its message from."""
        return 0 if self._running is None else int(self._running.source)

    def _source_rank(self) -> int:
        return self.source_rank()

    def result(self) -> list[Any]:
        """The tensors that the collective gives."""
        return self._tensors

    def get_future(self) -> Future[Any]:
        """A future that has the tensors."""
        return _WorkFuture(self)


class _WorkFuture(Future[Any]):
    """Ended by who waits; by a thread where callbacks wait."""

    __module__ = "torch.jit"

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work, self._watched = work, False
        if work.is_completed():
            self._end()

    def _end(self) -> None:
        try:
            self._work.wait()
            error = None
        except DistBackendError as caught:
            error = caught
        self._finish(None if error else self._work._future_value, error)

    def _finish(self, value: Any, error: Any) -> None:
        try:
            super()._finish(value, error)
        except RuntimeError:  # another thread was first
            if not super().done():
                raise

    def done(self) -> bool:
        """Whether the value is there."""
        if not super().done() and self._work.is_completed():
            self._end()
        return super().done()

    def wait(self) -> Any:
        """The value, once it is there; raises what the work raises."""
        if not super().done():
            self._end()
        return super().wait()

    def _when_done(self, callback: Any) -> None:
        super()._when_done(callback)
        if not self.done() and not self._watched:
            self._watched = True
            thread = threading.Thread(target=self._watch, name="torch.distributed future", daemon=True)
            _waiters.add(thread)
            thread.start()

    def _watch(self) -> None:
        try:
            self._end()
        finally:
            _waiters.discard(threading.current_thread())


@atexit.register
def _leave() -> None:
    """Nothing waits any longer when the interpreter ends."""
    _core.end_mpi()
    for thread in list(_waiters):
        thread.join(1)


naming.present(globals(), "torch.distributed.distributed_c10d")
