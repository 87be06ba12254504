"""``torch._C._profiler``: records of the profiler."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch._C._profiler", name)


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
