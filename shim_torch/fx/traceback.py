"""``torch.fx.traceback``: notes on nodes of a graph being traced; there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """A context without effect: no stack traces are kept in nodes."""
    yield


@contextlib.contextmanager
def annotate(annotation: dict[str, Any]) -> Iterator[None]:
    """A context without effect."""
    yield


def has_preserved_node_meta() -> bool:
    """False."""
    return False


def get_current_meta() -> dict[str, Any]:
    """An empty dict."""
    return {}
