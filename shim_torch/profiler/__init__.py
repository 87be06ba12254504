"""``torch.profiler``: a profile of the ranges named with ``record_function``, with a schedule of steps.

Operators and GPU kernels are not traced; for those use Nsight Systems (``emit_nvtx`` makes the ranges visible there).
"""

from __future__ import annotations

from typing import Any

from shim_torch.autograd.profiler import KinetoStepTracker, record_function
from shim_torch.profiler.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

_KinetoProfile = profile

__all__ = [
    "KinetoStepTracker",
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """Whether operators and kernels are traced: no."""
    return False


def __getattr__(name: str) -> Any:
    if name in ("profiler", "itt"):
        from importlib import import_module

        return import_module(f"shim_torch.profiler.{name}")
    from shim_torch._impl.surface.missing import missing

    return missing("torch.profiler", name)
