"""``torch.cuda``: devices, streams, events, graphs and memory. Importing it touches no GPU."""

from __future__ import annotations

import contextlib
import functools
from importlib import import_module
from typing import Any

from shim_torch._impl.cuda import need_device as _need_device
from shim_torch._impl.cuda.device_properties import _ATTRIBUTES, _CudaDeviceProperties
from shim_torch._impl.cuda.devices import _DeviceGuard, _exchange_device, _maybe_exchange_device, device, device_of
from shim_torch._impl.cuda.devices import index_of as _index_of
from shim_torch._impl.cuda.graphs import (
    CUDAGraph,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_callables,
)
from shim_torch._impl.cuda.streams import (
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from shim_torch._impl.native import _core
from shim_torch.cuda import memory
from shim_torch.cuda.memory import (
    CUDAPluggableAllocator,
    MemPool,
    OutOfMemoryError,
    caching_allocator_alloc,
    caching_allocator_delete,
    caching_allocator_enable,
    change_current_allocator,
    empty_cache,
    get_allocator_backend,
    get_per_process_memory_fraction,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
    use_mem_pool,
)


class DeferredCudaCallError(Exception):
    """An error of something that was to run when CUDA started."""


class cudaStatus:
    """Numbers of the CUDA runtime's errors."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


has_half = True
has_magma = False


_properties: dict[int, _CudaDeviceProperties] = {}


def is_available() -> bool:
    """Whether there is a driver and a device."""
    return _core.cuda_device_count() > 0


def device_count() -> int:
    """How many devices there are."""
    return _core.cuda_device_count()


def is_initialized() -> bool:
    """Whether CUDA can be used: it is as soon as there is a device."""
    return is_available()


def init() -> None:
    """Checks that CUDA can be used."""
    _lazy_init()


def _lazy_init() -> None:
    _need_device()


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Runs ``callable`` now: CUDA is ready from the start. Without a device it is dropped, as nothing can come of it."""
    if is_available():
        callable()


def _is_compiled() -> bool:
    return is_available()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 arithmetic is in hardware (compute capability 8.0), or, emulated, anyway."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported() -> bool:
    """Whether TF32 is in hardware."""
    return is_available() and get_device_capability()[0] >= 8


def current_device() -> int:
    """The index of the current device."""
    _lazy_init()
    return _core.cuda_current_device()


def set_device(device: Any) -> None:
    """Makes a device current on this thread."""
    index = _index_of(device)
    if index >= 0:
        _core.cuda_set_device(index)


def get_device_properties(device: Any = None) -> _CudaDeviceProperties:
    """Name, capability, memory and limits of a device."""
    _lazy_init()
    index = _index_of(device)
    if not 0 <= index < device_count():
        raise AssertionError("Invalid device id")
    if index not in _properties:
        import uuid

        name, total, uuid_bytes = _core.cuda_device_info(index)
        values = {field: _core.cuda_device_attribute(index, number) for field, number in _ATTRIBUTES.items()}
        major, minor = _core.cuda_device_attribute(index, 75), _core.cuda_device_attribute(index, 76)
        _properties[index] = _CudaDeviceProperties(
            name, major, minor, total, uuid=uuid.UUID(bytes=uuid_bytes), **values
        )
    return _properties[index]


def get_device_name(device: Any = None) -> str:
    """The device's name."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """(major, minor) compute capability."""
    p = get_device_properties(device)
    return p.major, p.minor


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether one device can read another's memory."""
    return _core.cuda_can_access_peer(_index_of(device), _index_of(peer_device))


def get_arch_list() -> list[str]:
    """The architectures there are kernels for: kernels are compiled at run time, for the devices that are here."""
    return sorted({"sm_{}{}".format(*get_device_capability(i)) for i in range(device_count())})


def get_gencode_flags() -> str:
    """nvcc flags for ``get_arch_list``."""
    numbers = [a.removeprefix("sm_") for a in get_arch_list()]
    return " ".join(f"-gencode compute=compute_{n},code=sm_{n}" for n in numbers)


def synchronize(device: Any = None) -> None:
    """Waits for all work on a device."""
    _lazy_init()
    _core.cuda_synchronize(_index_of(device))


def current_blas_handle() -> int:
    """Errors: NotImplementedError, for cuBLAS has no handle of its own here."""
    raise NotImplementedError("torch.cuda.current_blas_handle is not supported by shim-torch")


def ipc_collect() -> None:
    """Memory is not shared between processes: nothing to collect."""


def cudart() -> Any:
    """A few functions of the CUDA runtime: profiler start and stop, device synchronisation."""
    _lazy_init()
    return _Cudart()


class _Cudart:
    @staticmethod
    def cudaDeviceSynchronize() -> int:
        synchronize()
        return 0

    @staticmethod
    def cudaMemGetInfo(device: int) -> tuple[int, int]:
        return mem_get_info(device)

    @staticmethod
    def cudaProfilerStart() -> int:
        from shim_torch._impl.arrays import cupy_runtime

        cupy_runtime.start_profiler()
        return 0

    @staticmethod
    def cudaProfilerStop() -> int:
        from shim_torch._impl.arrays import cupy_runtime

        cupy_runtime.stop_profiler()
        return 0


_SLEEP = r"""
extern "C" __global__ void shim_sleep(long long n) { long long start = clock64(); while (clock64() - start < n) {} }
"""


@functools.cache
def _sleep_kernel() -> Any:
    from shim_torch._impl.arrays import cupy_runtime

    return cupy_runtime.kernel(_SLEEP, "shim_sleep")


def _sleep(cycles: int) -> None:
    """Keeps the current stream busy for about ``cycles`` clock cycles."""
    from shim_torch._impl.arrays import cupy_runtime
    from shim_torch._impl.cuda.cupy_link import link_cupy

    link_cupy()
    _sleep_kernel()((1,), (1,), (cupy_runtime.int64(cycles),))


_DIAGNOSTICS = frozenset(
    """CudaError check_error set_sync_debug_mode get_sync_debug_mode get_stream_from_external device_memory_used utilization
    memory_usage temperature power_draw clock_rate list_gpu_processes""".split()
)


def __getattr__(name: str) -> Any:
    if name == "_initialized":  # what libraries that recompute ask before they keep the generators' states
        return is_initialized()
    if name == "default_generators":
        from shim_torch.cuda import random

        return random._default_generators()
    if name in ("amp", "nvtx", "graphs", "streams", "random", "nccl", "comm", "profiler", "sparse"):
        with contextlib.suppress(ModuleNotFoundError):
            return import_module(f"shim_torch.cuda.{name}")
    if name in _DIAGNOSTICS:
        from shim_torch._impl.cuda import diagnostics

        return getattr(diagnostics, name)
    if name == "AcceleratorError":
        from shim_torch._impl.surface.errors import AcceleratorError

        return AcceleratorError
    if name.endswith("Storage"):
        from shim_torch._impl.tensor.typed_storage import legacy_storage

        with contextlib.suppress(KeyError):
            return legacy_storage(name, "cuda")
    from shim_torch._impl.tensor.legacy_types import TENSORS, legacy_type

    if name in TENSORS:
        return legacy_type(name, "cuda")
    from shim_torch._impl.surface.missing import missing

    return missing("torch.cuda", name)


from shim_torch.cuda.random import (  # noqa: E402  (asks for the devices above)
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
