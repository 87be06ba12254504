"""``torch.cuda.nvtx``: ranges for profilers, through CuPy when it is there; without it they do nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


def _nvtx() -> Any:
    import sys

    cupy = sys.modules.get("cupy")
    return None if cupy is None else cupy.cuda.nvtx


def range_push(msg: str) -> int:
    """Opens a range."""
    nvtx = _nvtx()
    if nvtx is not None:
        nvtx.RangePush(msg)
    return 0


def range_pop() -> int:
    """Closes the innermost range."""
    nvtx = _nvtx()
    if nvtx is not None:
        nvtx.RangePop()
    return 0


def range_start(msg: str) -> int:
    """Would open a range that any thread can close; NotImplementedError, as CuPy has no such ranges."""
    raise NotImplementedError(
        "torch.cuda.nvtx.range_start is not supported by shim-torch: use range_push and range_pop"
    )


def range_end(range_id: int) -> None:
    """Closes a range of ``range_start``."""
    raise NotImplementedError("torch.cuda.nvtx.range_end is not supported by shim-torch: use range_push and range_pop")


def mark(msg: str) -> None:
    """Marks an instant."""
    nvtx = _nvtx()
    if nvtx is not None:
        nvtx.Mark(msg)


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A range as a context manager or decorator."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
