"""``torch.cuda.memory``: the stream-ordered pool that tensors and CuPy arrays share."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch.cuda._streams import index_of


class OutOfMemoryError(RuntimeError):
    """Raised when a device has no memory left; the text gives sizes."""


def _stats(device: Any) -> tuple[int, int, int, int]:
    return _core.cuda_memory_stats(index_of(device)) if _core.cuda_device_count() else (0, 0, 0, 0)


def memory_allocated(device: Any = None) -> int:
    """Bytes in use from the pool (by tensors, and by CuPy when it shares the pool)."""
    return _stats(device)[0]


def memory_reserved(device: Any = None) -> int:
    """Bytes the pool holds."""
    return _stats(device)[1]


def max_memory_allocated(device: Any = None) -> int:
    """The largest ``memory_allocated`` since the last reset."""
    return _stats(device)[2]


def max_memory_reserved(device: Any = None) -> int:
    """The largest ``memory_reserved`` since the last reset."""
    return _stats(device)[3]


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Starts the maxima anew."""
    if _core.cuda_device_count():
        _core.cuda_reset_peak(index_of(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


def empty_cache() -> None:
    """Gives unused memory of the pool back to the device."""
    for index in range(_core.cuda_device_count()):
        _core.cuda_empty_cache(index)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) bytes of the device."""
    return _core.cuda_mem_info(index_of(device))


def memory_stats(device: Any = None) -> dict[str, int]:
    """The pool's figures under PyTorch's names."""
    used, reserved, used_high, reserved_high = _stats(device)
    return {
        "allocated_bytes.all.current": used,
        "allocated_bytes.all.peak": used_high,
        "reserved_bytes.all.current": reserved,
        "reserved_bytes.all.peak": reserved_high,
        "active_bytes.all.current": used,
        "active_bytes.all.peak": used_high,
    }


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The figures as text."""
    return "\n".join(f"{name:32} {value:>20,}" for name, value in memory_stats(device).items())


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Memory by pointer, to be given to ``caching_allocator_delete``."""
    t = _core.empty_tensor((size,), dtype=_core.uint8, device=_core.device("cuda", index_of(device)))
    _raw[t.data_ptr()] = t
    return t.data_ptr()


_raw: dict[int, Any] = {}


def caching_allocator_delete(mem_ptr: int) -> None:
    """Frees what ``caching_allocator_alloc`` gave."""
    _raw.pop(mem_ptr, None)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    raise NotImplementedError("torch.cuda.set_per_process_memory_fraction is not supported by shim-torch")


class CUDAPluggableAllocator:
    """An allocator in a shared library: not supported."""

    def __init__(self, *args: Any) -> None:
        raise NotImplementedError("torch.cuda.memory.CUDAPluggableAllocator is not supported by shim-torch")


class MemPool:
    """A private memory pool: not supported."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("torch.cuda.MemPool is not supported by shim-torch")


def use_mem_pool(pool: Any, device: Any = None) -> Any:
    raise NotImplementedError("torch.cuda.use_mem_pool is not supported by shim-torch")


OutOfMemoryError.__module__ = "torch"
OutOfMemoryError.__qualname__ = OutOfMemoryError.__name__ = "OutOfMemoryError"
