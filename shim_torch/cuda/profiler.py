"""``torch.cuda.profiler``: tells an attached profiler (Nsight) when to record."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["profile", "start", "stop"]


def start() -> None:
    """The profiler records from here."""
    from cupy.cuda import profiler

    profiler.start()


def stop() -> None:
    """The profiler records up to here."""
    from cupy.cuda import profiler

    profiler.stop()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """The profiler records within the block."""
    start()
    try:
        yield
    finally:
        stop()
