"""``torch._C._profiler``: records of the profiler."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._C._profiler", name)
