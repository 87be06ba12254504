"""``torch.cuda.memory``: the memory that tensors and CuPy arrays share.

Blocks are cut from segments of the driver's stream-ordered pool and kept for reuse on their stream; with
``PYTORCH_NO_CUDA_MEMORY_CACHING=1`` in the environment each comes from that pool.
"""

from __future__ import annotations

from typing import Any

from shim_torch._impl.cuda.devices import index_of as _index_of
from shim_torch._impl.native import _core
from shim_torch._impl.surface.errors import OutOfMemoryError as OutOfMemoryError


def _stats(device: Any) -> tuple[int, int, int, int]:
    return _core.cuda_memory_stats(_index_of(device)) if _core.cuda_device_count() else (0, 0, 0, 0)


def memory_allocated(device: Any = None) -> int:
    """Bytes in use (by tensors, and by CuPy where it shares the memory)."""
    return _stats(device)[0]


def memory_reserved(device: Any = None) -> int:
    """Bytes that the cache holds, in use or not."""
    return _stats(device)[1]


def max_memory_allocated(device: Any = None) -> int:
    """The largest ``memory_allocated`` since the last reset."""
    return _stats(device)[2]


def max_memory_reserved(device: Any = None) -> int:
    """The largest ``memory_reserved`` since the last reset."""
    return _stats(device)[3]


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Resets the maxima to the present values."""
    if _core.cuda_device_count():
        _core.cuda_reset_stats(_index_of(device), True, False)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Resets the running totals ("allocated" and "freed") to 0."""
    if _core.cuda_device_count():
        _core.cuda_reset_stats(_index_of(device), False, True)


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def empty_cache() -> None:
    """Gives unused memory of the cache and of the driver's pool back to the devices."""
    for index in range(_core.cuda_device_count()):
        _core.cuda_empty_cache(index)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """(free, total) bytes of the device."""
    return _core.cuda_mem_info(_index_of(device))


def memory_stats(device: Any = None) -> dict[str, int]:
    """The cache's figures under PyTorch's names: "allocated_bytes.all.peak" ..."""
    return dict(sorted(_core.cuda_memory_statistics(_index_of(device)).items())) if _core.cuda_device_count() else {}


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """The same, nested by the parts of the names."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *parts, last = name.split(".")
        place = nested
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return nested


def memory_snapshot(mempool_id: Any = None) -> list[dict[str, Any]]:
    """Every segment of every device's cache with its blocks."""
    return [segment for index in range(_core.cuda_device_count()) for segment in _core.cuda_memory_snapshot(index)]


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The figures as text."""
    return "\n".join(f"{name:40} {value:>20,}" for name, value in memory_stats(device).items())


def get_allocator_backend() -> str:
    """``"native"``, as PyTorch names its caching allocator."""
    return "native"


def caching_allocator_alloc(size: int, device: Any = None, stream: Any = None) -> int:
    """Allocates ``size`` bytes and returns the address; free it with ``caching_allocator_delete``."""
    t = _core.empty_tensor((size,), dtype=_core.uint8, device=_core.device("cuda", _index_of(device)))
    _raw[t.data_ptr()] = t
    return t.data_ptr()


_raw: dict[int, Any] = {}


def caching_allocator_delete(mem_ptr: int) -> None:
    """Frees memory from ``caching_allocator_alloc``."""
    _raw.pop(mem_ptr, None)


_fractions: dict[int, float] = {}


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Limits this process to a fraction (0 to 1) of the device's memory; OutOfMemoryError beyond it."""
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = _index_of(device)
    _fractions[index] = fraction
    _core.cuda_memory_limit(index, int(fraction * _core.cuda_device_info(index)[1]))


def get_per_process_memory_fraction(device: Any = None) -> float:
    """The fraction of the device's memory that this process may use."""
    return _fractions.get(_index_of(device), 1.0)


def list_gpu_processes(device: Any = None) -> str:
    """The processes on a GPU and their memory in MB, from NVML."""
    from shim_torch._impl.cuda.diagnostics import list_gpu_processes as listed

    return str(listed(device))


def _snapshot(device: Any = None, augment_with_fx_traces: bool = False) -> dict[str, Any]:
    """What the caches hold now: {"segments": as ``memory_snapshot``, "device_traces": no history is recorded}."""
    return {"segments": memory_snapshot(), "device_traces": [[] for _ in range(_core.cuda_device_count())]}


def _dump_snapshot(filename: str = "dump_snapshot.pickle", augment_with_fx_traces: bool = False) -> None:
    """Writes ``_snapshot()`` to a file."""
    import pickle

    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


def _record_memory_history(enabled: str | None = "all", *args: Any, **kwargs: Any) -> None:
    """Allocations are not recorded: NotImplementedError for all but ``None``, which turns recording off."""
    if enabled is not None:
        raise NotImplementedError("torch.cuda.memory._record_memory_history is not supported by shim-torch")


def change_current_allocator(allocator: Any) -> None:
    """Raises NotImplementedError: device memory comes from the native allocator only."""
    raise NotImplementedError("torch.cuda.memory.change_current_allocator is not supported by shim-torch")


def caching_allocator_enable(value: bool = True) -> None:
    """Does nothing for True. NotImplementedError for False: set PYTORCH_NO_CUDA_MEMORY_CACHING=1 in the environment."""
    if not value:
        raise NotImplementedError(
            "torch.cuda.memory.caching_allocator_enable(False) is not supported by shim-torch: set "
            "PYTORCH_NO_CUDA_MEMORY_CACHING=1 in the environment before the start"
        )


class CUDAPluggableAllocator:
    """An allocator in a shared library: not supported."""

    def __init__(self, *args: Any) -> None:
        raise NotImplementedError("torch.cuda.memory.CUDAPluggableAllocator is not supported by shim-torch")


class MemPool:
    """A private memory pool: not supported."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("torch.cuda.MemPool is not supported by shim-torch")


def use_mem_pool(pool: Any, device: Any = None) -> Any:
    """Raises NotImplementedError: there are no separate memory pools."""
    raise NotImplementedError("torch.cuda.use_mem_pool is not supported by shim-torch")
