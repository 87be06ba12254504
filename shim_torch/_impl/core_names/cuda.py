"""``torch._C._cuda_*``: what libraries and PyTorch's test suites ask of the CUDA runtime below ``torch.cuda``."""

from __future__ import annotations

import os

from shim_torch._impl.native import _core


def _cuda_getCurrentRawStream(device: int) -> int:
    """The raw handle of the current stream of a device, as Triton's launcher asks for it."""
    from shim_torch._impl.cuda.streams import raw_stream

    return int(raw_stream(device))


def _cuda_getDevice() -> int:
    """The index of the current device."""
    return int(_core.cuda_current_device())


def _cuda_getDeviceCount() -> int:
    """How many devices there are."""
    return int(_core.cuda_device_count())


def _cuda_setDevice(index: int) -> None:
    """Makes a device current."""
    _core.cuda_set_device(index)


def _cuda_synchronize() -> None:
    """Waits for the current device."""
    _core.cuda_synchronize(_core.cuda_current_device())


def _cuda_setStream(stream_id: int, device_index: int, device_type: int) -> None:
    """Makes a stream current on its device, and that device current: the three are a stream's attributes of those names."""
    from shim_torch._impl.cuda.cupy_link import put_current as _put

    _core.cuda_set_device(device_index)
    _put(device_index, stream_id)


def _cuda_getCurrentStream(device_index: int) -> tuple[int, int, int]:
    """(stream_id, device_index, device_type) of the current stream of a device."""
    from shim_torch.cuda import current_stream

    stream = current_stream(device_index)
    return stream.stream_id, stream.device_index, stream.device_type


def _cuda_getDefaultStream(device_index: int) -> tuple[int, int, int]:
    """(stream_id, device_index, device_type) of the default stream of a device."""
    return 0, device_index, 1


def _cuda_isCurrentStreamCapturing() -> bool:
    """Whether a graph is captured on the current stream of the current device."""
    from shim_torch.cuda import is_current_stream_capturing

    return bool(is_current_stream_capturing())


def _cuda_cudaCachingAllocator_is_enabled() -> bool:
    """Whether freed memory is kept for later tensors: not with PYTORCH_NO_CUDA_MEMORY_CACHING in the environment."""
    return os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING", "") in ("", "0")


def _cuda_clearCublasWorkspaces() -> None:
    """Nothing of tensors' memory: matrix products have a workspace a stream, of memory that no statistics count.

    It is kept, since captured graphs may refer to it.
    """


def _cuda_resetCublasWorkspaceSize() -> None:
    """The size is fixed (32 MiB a stream)."""


_cuda_resetCublasLtWorkspaceSize = _cuda_resetCublasWorkspaceSize
