"""How a loader's worker processes are started and ended."""

from __future__ import annotations

import os
import time
from typing import Any


def context_of(given: Any) -> Any:
    """A context of multiprocessing: itself, or by the name of how it starts processes."""
    import multiprocessing.context

    if isinstance(given, multiprocessing.context.BaseContext):
        return given
    if not isinstance(given, str):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start "
            f"method, but got multiprocessing_context={given}"
        )
    known = multiprocessing.get_all_start_methods()
    if given in known:
        return multiprocessing.get_context(given)
    raise ValueError(
        f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
        f"multiprocessing_context={given!r}"
    )


def end_workers(maker: int, workers: list[Any], tasks: list[Any], results: Any, done: Any, patience: float) -> None:
    """Ends the workers of an iterator that is done or gone; those that don't end in ``patience`` seconds are terminated.

    The caller holds the queues for the iterator: where the garbage collector finds it with them in a cycle (an exception's traceback),
    the queues are closed before any ``__del__``, and no worker would be told.
    maker: the process that made the workers. In a forked copy of it they are another's.
    """
    if os.getpid() != maker:
        return
    done.set()
    for queue in tasks:
        queue.put(None)
    until = time.monotonic() + patience
    for process in workers:
        process.join(timeout=max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.terminate()
