"""``torch._logging``: switches of PyTorch's logs."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any


def set_logs(*, modules: Any = None, **levels: Any) -> None:
    """Sets the levels of loggers ``torch.<name>``; artifacts (graphs, guards) don't exist here."""
    for name, level in {**levels, **(modules or {})}.items():
        if isinstance(level, int) and not isinstance(level, bool):
            logging.getLogger(
                name if name.startswith("torch") else f"torch.{name}" if name != "all" else "torch"
            ).setLevel(level)


@functools.lru_cache(None)
def warning_once(logger: Any, *args: Any, **kwargs: Any) -> None:
    """``logger.warning``, once for each text."""
    logger.warning(*args, **kwargs)


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """A logger of its own for one kind of message."""
    return logging.getLogger(f"{module_qname}.__{artifact_name}")


def trace_structured(name: str, metadata_fn: Callable[[], Any] = dict, **_: Any) -> None:
    """Notes for PyTorch's compile traces: there are none."""


class LazyString:
    """A text that is made when it is printed."""

    def __init__(self, func: Callable[..., str], *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return self.func(*self.args, **self.kwargs)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._logging", name)
