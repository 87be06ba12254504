"""``torch.profiler.itt``: ranges for Intel's VTune, which need its ITT library: not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]

_WHY = "ITT functions not installed. Are you sure you have a ITT build?"


def is_available() -> bool:
    """Whether ITT is there: no."""
    return False


def range_push(msg: str) -> Any:
    """RuntimeError: there is no ITT library."""
    raise RuntimeError(_WHY)


def range_pop() -> Any:
    """RuntimeError: there is no ITT library."""
    raise RuntimeError(_WHY)


def mark(msg: str) -> Any:
    """RuntimeError: there is no ITT library."""
    raise RuntimeError(_WHY)


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """``range_push`` and ``range_pop`` around a block."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
