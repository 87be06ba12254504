"""``torch._logging``: switches of PyTorch's logs."""

from __future__ import annotations

from shim_torch._logging._internal import (
    LazyString,
    _init_logs,
    getArtifactLogger,
    set_logs,
    trace_structured,
    warning_once,
)

__all__ = ["LazyString", "_init_logs", "getArtifactLogger", "set_logs", "trace_structured", "warning_once"]
