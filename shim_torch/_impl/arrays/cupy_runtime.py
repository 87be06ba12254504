"""What CuPy gives beside arrays: the CUDA runtime, kernels from source, its thread's current stream.

Imported where one of them is needed; ModuleNotFoundError where CuPy is not installed.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import cupy


def error_text(code: int) -> str:
    """What the runtime calls an error of this number."""
    return str(cupy.cuda.runtime.getErrorString(code))


def start_profiler() -> None:
    """An attached profiler records from here."""
    cupy.cuda.runtime.profilerStart()


def stop_profiler() -> None:
    """An attached profiler records up to here."""
    cupy.cuda.runtime.profilerStop()


def kernel(source: str, name: str, options: tuple[str, ...] = ()) -> Any:
    """A kernel of CUDA C++ source, called as ``kernel(grid, block, arguments)``."""
    return cupy.RawModule(code=source, options=options).get_function(name)


def int64(value: int) -> Any:
    """A number as kernels take a ``long long``."""
    return cupy.int64(value)


def stream_getter() -> Any:
    """The capsule of the C function that gives CuPy's current stream on this thread, of type ``intptr_t (int)``; or None."""
    from cupy_backends.cuda import stream

    capsule = getattr(stream, "__pyx_capi__", {}).get("get_stream_ptr")
    return capsule if capsule is not None and "intptr_t (int)" in repr(capsule) else None


def failing() -> AbstractContextManager[Any]:
    """Within it CuPy's decompositions raise where there is no result, instead of giving NaN."""
    import cupyx

    made: AbstractContextManager[Any] = cupyx.errstate(linalg="raise")
    return made
