"""What a terminal is told of a compilation or a load that takes longer than two seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shim_torch._impl.native import _core


@contextmanager
def slow_work(what: str) -> Iterator[Callable[[str], None]]:
    """Within, from the second second on, ``shim-torch: what...`` stands on stderr, if that is a terminal; it gives a function
    that changes the text. The line is taken back at the end."""
    works = [_core.slow_work(what)]
    try:
        yield lambda text: works[0].say(text)
    finally:
        works.clear()
