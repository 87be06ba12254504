"""Streams and memory shared with CuPy, once it is loaded."""

from __future__ import annotations

import sys
from typing import Any

from shim_torch._impl.native import _core

linked = False


def link_cupy() -> None:
    """Makes CuPy's current stream ours, and this project's memory pool CuPy's, once CuPy is loaded.

    A user's own CuPy allocator is left alone. The C getter of CuPy's thread-local is called once an operator (60 ns).
    """
    global linked
    if linked or "cupy" not in sys.modules:
        return
    cupy = sys.modules["cupy"]
    if not hasattr(cupy, "get_default_memory_pool"):
        return  # CuPy is being imported
    linked = True
    from shim_torch._impl.arrays import cupy_runtime

    capsule = cupy_runtime.stream_getter()
    if capsule is not None:
        current = [(i, _core.cuda_current_stream(i)) for i in range(_core.cuda_device_count())]
        _core.cuda_use_cupy_stream_getter(capsule)
        for index, pointer in current:  # CuPy may be loaded while a stream of ours is current
            if pointer:
                put_current(index, pointer)
    if cupy.cuda.get_allocator() == cupy.get_default_memory_pool().malloc and _core.cuda_device_count():
        cupy.cuda.set_allocator(cupy_malloc)


_cupy_allocator: Any = None


def cupy_malloc(size: int) -> Any:
    """An allocator for CuPy: from the cache of blocks that tensors come from, on CuPy's current stream."""
    global _cupy_allocator
    cuda = sys.modules["cupy"].cuda
    if _cupy_allocator is None:
        _cupy_allocator = cuda.memory.CFunctionAllocator(0, *_core.cuda_allocation_functions(), None).malloc
    memory = _cupy_allocator(size)
    if size and not memory.ptr:
        raise cuda.memory.OutOfMemoryError(size, _core.cuda_memory_stats(cuda.runtime.getDevice())[0])
    return memory


class _Foreign:
    """A stream's pointer in the form of the CUDA stream protocol."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.pointer)


def _cupy_stream(cupy: Any, pointer: int, index: int) -> Any:
    if pointer == 0:
        return cupy.cuda.Stream.null
    if hasattr(cupy.cuda.Stream, "from_external"):  # CuPy 14; ExternalStream before it
        return cupy.cuda.Stream.from_external(_Foreign(pointer))
    return cupy.cuda.ExternalStream(pointer, index)


def put_current(index: int, pointer: int) -> None:
    """Makes a stream (``pointer`` 0: the default one) current on device ``index``, CuPy's too once it is loaded."""
    link_cupy()
    if linked:
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(index):
            _cupy_stream(cupy, pointer, index).use()
    _core.cuda_set_current_stream(index, pointer)


_core.cuda_set_stream_setter(put_current)
