"""``torch._C._profiler``: records of the profiler."""

from __future__ import annotations

from typing import Any


class CapturedTraceback:
    """The Python frames of a moment."""

    def __init__(self, frames: list[dict[str, Any]]) -> None:
        self.frames = frames


def gather_traceback(python: bool = True, script: bool = False, cpp: bool = False) -> CapturedTraceback:
    """The frames of the caller, innermost first; those of C++ are not known."""
    import sys

    frames = []
    frame: Any = sys._getframe(1) if python else None
    while frame is not None:
        code = frame.f_code
        frames.append({"filename": code.co_filename, "line": frame.f_lineno, "name": code.co_name})
        frame = frame.f_back
    return CapturedTraceback(frames)


def symbolize_tracebacks(tracebacks: list[CapturedTraceback]) -> list[list[dict[str, Any]]]:
    """The frames of each."""
    return [t.frames for t in tracebacks]


class _ExperimentalConfig:
    """Settings of PyTorch's tracer. They are kept; the profiler here has none of what they set."""

    def __init__(
        self,
        profiler_metrics: list[str] | None = None,
        profiler_measure_per_kernel: bool = False,
        verbose: bool = False,
        performance_events: list[str] | None = None,
        enable_cuda_sync_events: bool = False,
        adjust_profiler_step: bool = False,
        disable_external_correlation: bool = False,
        profile_all_threads: bool = False,
        capture_overload_names: bool = False,
        record_python_gc_info: bool = False,
        expose_kineto_event_metadata: bool = False,
        custom_profiler_config: str = "",
        adjust_timestamps: bool = False,
        trace_only: bool = False,
    ) -> None:
        self.custom_profiler_config = custom_profiler_config
        self.trace_only = trace_only
