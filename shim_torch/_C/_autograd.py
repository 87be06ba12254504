"""``torch._C._autograd``: what the profiler's records are made of."""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class DeviceType(IntEnum):
    """The kinds of device."""

    CPU = 0
    CUDA = 1
    MPS = 13
    XPU = 12
    Meta = 14


def _top_saved_tensors_default_hooks(ignore_is_tracing: bool) -> Any:
    from shim_torch.autograd import graph

    found = getattr(graph, "_current_hooks", None)
    return found() if callable(found) else None


def _profiler_enabled() -> bool:
    """Whether a profile is being taken."""
    from shim_torch.autograd.profiler import _is_profiler_enabled

    return bool(_is_profiler_enabled())


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._C._autograd", name)
