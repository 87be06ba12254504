"""What Triton asks of the CUDA driver, without the C that it compiles for that on the user's machine.

Stock Triton compiles its ``driver.c`` at a process's first launch, and versions before 3.9 a launcher for each kernel too: each a
third of a second with an empty cache, and an error where there is no C compiler. Here the driver is called as it is; what only
seldom kernels need (descriptors, tuples, cooperative launches, clusters, scratch memory) is stock, compiled when it is asked for.
A launcher serves the first launch of a kernel for each kind of arguments; later ones are the dispatcher's (``dispatch``).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any

# How a parameter lies in memory, for each kind of a signature but pointers: the number of cuda/compiled_kernel.h's slot, and its type.
SLOTS: dict[str, tuple[int, Any]] = {
    "i1": (1, ctypes.c_int8),
    "u1": (1, ctypes.c_uint8),
    "i8": (1, ctypes.c_int8),
    "u8": (1, ctypes.c_uint8),
    "i16": (2, ctypes.c_int16),
    "u16": (2, ctypes.c_uint16),
    "i32": (3, ctypes.c_int32),
    "u32": (3, ctypes.c_uint32),
    "i64": (4, ctypes.c_int64),
    "u64": (4, ctypes.c_uint64),
    "fp32": (5, ctypes.c_float),
    "fp64": (6, ctypes.c_double),
}
POINTER = (0, ctypes.c_uint64)

# CUdevice_attribute and CUfunction_attribute.
PROPERTIES = {
    "max_shared_mem": 97,
    "max_num_regs": 12,
    "multiprocessor_count": 16,
    "warpSize": 10,
    "sm_clock_rate": 13,
    "mem_clock_rate": 36,
    "mem_bus_width": 37,
}
MAX_THREADS, STATIC_SHARED, LOCAL_BYTES, REGISTERS, DYNAMIC_SHARED = 0, 1, 3, 4, 8
ALWAYS_THERE = 48 << 10  # bytes of shared memory that a kernel has without asking
PREFER_SHARED, DEVICE_POINTER, INVALID_VALUE = 1, 3, 1


@functools.cache
def library() -> ctypes.CDLL:
    """The CUDA driver."""
    return ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: Any) -> None:
    """A function of the driver; RuntimeError, in Triton's words, where it fails."""
    code = getattr(library(), name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        library().cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"Triton Error [CUDA]: {(text.value or b'unknown error').decode()} ({name})")


def number(name: str, *arguments: Any) -> int:
    """The int that a function of the driver writes to its first argument."""
    value = ctypes.c_int()
    call(name, ctypes.byref(value), *arguments)
    return value.value


def slots_of(signature: dict[Any, Any], metadata: Any) -> dict[Any, tuple[int, Any]] | None:
    """The slot of each parameter at run time; None of a kernel that needs more than a launch of these."""
    unusual = (
        "launch_cooperative_grid",
        "launch_pdl",
        "global_scratch_size",
        "profile_scratch_size",
        "instrumentation_mode",
    )
    if any(getattr(metadata, name, 0) for name in unusual) or metadata.num_ctas != 1:
        return None
    if set(getattr(metadata, "cluster_dims", (1,))) != {1}:
        return None
    found = {}
    for name, kind in signature.items():
        if kind == "constexpr":
            continue
        slot = None
        if isinstance(kind, str):
            slot = POINTER if kind.startswith("*") else SLOTS.get(kind)
        if slot is None:
            return None
        found[name] = slot
    return found


def address_of(value: Any, place: int) -> int:
    """Where the memory of an argument begins on the device; ValueError where a kernel cannot reach it."""
    if value is None or isinstance(value, int):
        return value or 0
    if not hasattr(value, "data_ptr"):
        raise TypeError("Pointer argument must be either uint64 or have data_ptr method")
    pointer = value.data_ptr()
    if not pointer:
        return 0
    found = ctypes.c_uint64()
    code = library().cuPointerGetAttribute(ctypes.byref(found), DEVICE_POINTER, ctypes.c_uint64(pointer))
    if code == INVALID_VALUE:
        raise ValueError(f"Pointer argument (at {place}) cannot be accessed from Triton (cpu tensor?)")
    return found.value


class Utils:
    """Stands for Triton's ``CudaUtils``; what it has not is the stock one's, which is compiled then."""

    def __init__(self, stock: Callable[[], Any]) -> None:
        self._stock = functools.cache(stock)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._stock(), name)

    def get_device_properties(self, device: int) -> dict[str, int]:
        """Sizes and rates (kHz, bits) of a device."""
        return {name: number("cuDeviceGetAttribute", attribute, device) for name, attribute in PROPERTIES.items()}

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        """Module, function, registers, words of local memory and most threads of a compiled kernel, which is loaded."""
        _enter(device)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(kernel))
        call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(name.encode()))
        most = number("cuDeviceGetAttribute", PROPERTIES["max_shared_mem"], device)
        if shared > ALWAYS_THERE and most > ALWAYS_THERE:
            call("cuFuncSetCacheConfig", function, PREFER_SHARED)
            most -= number("cuFuncGetAttribute", STATIC_SHARED, function)
            call("cuFuncSetAttribute", function, DYNAMIC_SHARED, most)
        registers, local, threads = (
            number("cuFuncGetAttribute", of, function) for of in (REGISTERS, LOCAL_BYTES, MAX_THREADS)
        )
        return module.value or 0, function.value or 0, registers, local // 4, threads

    def unload_module(self, module: int) -> None:
        """Frees the module's memory."""
        call("cuModuleUnload", ctypes.c_void_p(module))


@contextlib.contextmanager
def in_place_of_stock(module: Any) -> Iterator[None]:
    """Within it Triton's driver, which ``module`` makes, gets our ``Utils``."""
    stock = module.CudaUtils
    module.CudaUtils = functools.partial(Utils, stock)
    try:
        yield
    finally:
        module.CudaUtils = stock


def _enter(device: int) -> None:
    """Makes the device's primary context this thread's, where it has none."""
    context = ctypes.c_void_p()
    call("cuCtxGetCurrent", ctypes.byref(context))
    if not context:
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        call("cuCtxSetCurrent", context)


class Launcher:
    """Stands for Triton's ``CudaLauncher`` of one kernel."""

    def __init__(self, slots: dict[Any, tuple[int, Any]], src: Any, metadata: Any) -> None:
        self.places = [(i, *slots[name]) for i, name in enumerate(src.signature) if name in slots]
        self.threads, self.shared = metadata.num_warps * 32, metadata.shared

    def __call__(
        self,
        x: int,
        y: int,
        z: int,
        stream: int,
        function: int,
        metadata: Any,
        launch_metadata: Any,
        enter: Any,
        leave: Any,
        *arguments: Any,
    ) -> None:
        """Launches ``function`` with the kernel's arguments, those of its constants too, between Triton's two hooks."""
        from triton.runtime import driver

        values = [kind(arguments[i]) if slot else kind(address_of(arguments[i], i)) for i, slot, kind in self.places]
        values += [ctypes.c_uint64(), ctypes.c_uint64()]  # no scratch memory: parameters of every kernel
        if enter is not None:
            enter(launch_metadata)
        if x * y * z > 0:
            _enter(driver.active.get_current_device())
            parameters = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
            call(
                "cuLaunchKernel",
                ctypes.c_void_p(function),
                *(ctypes.c_uint(n) for n in (x, y, z, self.threads, 1, 1, self.shared)),
                ctypes.c_void_p(stream),
                parameters,
                None,
            )
        if leave is not None:
            leave(launch_metadata)


def launchers(stock: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What makes the launcher of a kernel, of those that ``stock`` makes where it must be."""

    def launcher(src: Any, metadata: Any) -> Any:
        slots = slots_of(src.signature, metadata)
        return stock(src, metadata) if slots is None else Launcher(slots, src, metadata)

    return launcher
