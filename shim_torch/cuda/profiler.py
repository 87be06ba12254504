"""``torch.cuda.profiler``: tells an attached profiler (Nsight) when to record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """The profiler records from here."""
    from shim_torch._impl.arrays import cupy_runtime

    cupy_runtime.start_profiler()


def stop() -> None:
    """The profiler records up to here."""
    from shim_torch._impl.arrays import cupy_runtime

    cupy_runtime.stop_profiler()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """The profiler records within the block."""
    start()
    try:
        yield
    finally:
        stop()
