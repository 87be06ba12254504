"""``torch._logging``: switches of PyTorch's logs."""

from __future__ import annotations

from typing import Any

from shim_torch._logging._internal import (
    LazyString,
    _init_logs,
    getArtifactLogger,
    set_logs,
    trace_structured,
    warning_once,
)

__all__ = ["LazyString", "_init_logs", "getArtifactLogger", "set_logs", "trace_structured", "warning_once"]


def __getattr__(name: str) -> Any:
    from shim_torch._impl.surface.missing import missing

    return missing("torch._logging", name)
