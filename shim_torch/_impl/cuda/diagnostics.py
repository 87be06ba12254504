"""Errors of the CUDA runtime by number, the mode that reports synchronisation, and figures that NVML gives."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.cuda.streams import ExternalStream


class CudaError(RuntimeError):
    """An error of the CUDA runtime, by its number."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{_error_text(int(code))} ({int(code)})")


def _error_text(code: int) -> str:
    from shim_torch._impl.arrays import cupy_runtime

    return cupy_runtime.error_text(code)


def check_error(res: int) -> None:
    """Raises CudaError for a number that is not cudaSuccess."""
    if int(res) != 0:
        raise CudaError(res)


_MODES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Accepts 0 or "default" only: operators that synchronise are not reported."""
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError("invalid value of debug_mode, expected one of `default`, `warn`, `error`")
        debug_mode = _MODES[debug_mode]
    if debug_mode:
        raise NotImplementedError(
            "torch.cuda.set_sync_debug_mode: shim-torch does not report synchronising operators; use mode 'default', and a profiler "
            "(nsys) to find them"
        )


def get_sync_debug_mode() -> int:
    """0: operators that synchronise are not reported."""
    return 0


def get_stream_from_external(data_ptr: int, device: Any = None) -> ExternalStream:
    """The stream behind a cudaStream_t made elsewhere."""
    return ExternalStream(data_ptr, device)


def _nvml(device: Any) -> tuple[Any, Any]:
    """pynvml and its handle for a device."""
    try:
        import pynvml
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("pynvml does not seem to be installed or it can't be imported.") from error
    from shim_torch import cuda

    pynvml.nvmlInit()
    uuid = str(cuda.get_device_properties(device).uuid)
    try:
        return pynvml, pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")
    except pynvml.NVMLError:
        return pynvml, pynvml.nvmlDeviceGetHandleByIndex(cuda._index_of(device))


def device_memory_used(device: Any = None) -> int:
    """Bytes in use on the device, by every process."""
    pynvml, handle = _nvml(device)
    return int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)


def utilization(device: Any = None) -> int:
    """The percentage of the last sample period in which a kernel ran."""
    pynvml, handle = _nvml(device)
    return int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)


def memory_usage(device: Any = None) -> int:
    """The percentage of the last sample period in which memory was read or written."""
    pynvml, handle = _nvml(device)
    return int(pynvml.nvmlDeviceGetUtilizationRates(handle).memory)


def temperature(device: Any = None) -> int:
    """Degrees Celsius."""
    pynvml, handle = _nvml(device)
    return int(pynvml.nvmlDeviceGetTemperature(handle, 0))


def power_draw(device: Any = None) -> int:
    """Milliwatts."""
    pynvml, handle = _nvml(device)
    return int(pynvml.nvmlDeviceGetPowerUsage(handle))


def clock_rate(device: Any = None) -> int:
    """The SM's clock in MHz."""
    pynvml, handle = _nvml(device)
    return int(pynvml.nvmlDeviceGetClockInfo(handle, 1))


def list_gpu_processes(device: Any = None) -> str:
    """The processes that use a device, and their memory."""
    pynvml, handle = _nvml(device)
    from shim_torch import cuda

    lines = [f"GPU:{cuda._index_of(device)}"]
    found = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    for process in found:
        lines.append(f"process {process.pid:>10d} uses {process.usedGpuMemory / 1024 / 1024:>12.3f} MB GPU memory")
    return "\n".join(lines if found else [*lines, "no processes are running"])
