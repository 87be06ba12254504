"""``torch._functorch.utils``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

argnums_t = Any


@contextlib.contextmanager
def enable_single_level_autograd_function() -> Iterator[None]:
    """A context: a Function may always be called by itself here."""
    yield


def exposed_in(module: str) -> Any:
    """A decorator: the function names ``module`` as its home."""

    def mark(fn: Any) -> Any:
        fn.__module__ = module
        return fn

    return mark
