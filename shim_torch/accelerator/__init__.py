"""``torch.accelerator``: the machine's accelerator, which is CUDA or none."""

from __future__ import annotations

from typing import Any

from shim_torch import cuda
from shim_torch._impl.native import _core
from shim_torch.cuda.memory import max_memory_allocated as max_memory_allocated
from shim_torch.cuda.memory import max_memory_reserved as max_memory_reserved
from shim_torch.cuda.memory import memory_allocated as memory_allocated
from shim_torch.cuda.memory import memory_reserved as memory_reserved
from shim_torch.cuda.memory import memory_stats as memory_stats
from shim_torch.cuda.memory import reset_accumulated_memory_stats as reset_accumulated_memory_stats
from shim_torch.cuda.memory import reset_peak_memory_stats as reset_peak_memory_stats


def is_available() -> bool:
    """Whether there is a GPU."""
    return cuda.is_available()


def current_accelerator(check_available: bool = False) -> Any:
    """``torch.device("cuda")``, or None without a GPU."""
    return _core.device("cuda") if cuda.is_available() else None


def device_count() -> int:
    """How many GPUs there are."""
    return cuda.device_count()


def _need() -> None:
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """The current GPU's index."""
    _need()
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any, /) -> None:
    """Makes a GPU current."""
    _need()
    cuda.set_device(device)


set_device_idx = set_device_index


def current_stream(device: Any = None, /) -> Any:
    """The current stream."""
    _need()
    return cuda.current_stream(device)


def set_stream(stream: Any) -> None:
    """Makes a stream current."""
    _need()
    cuda.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Waits for all work on a GPU."""
    _need()
    cuda.synchronize(device)


class device_index:
    """``with torch.accelerator.device_index(i):``"""

    def __init__(self, device: int | None, /) -> None:
        self.index, self.previous = device, -1

    def __enter__(self) -> None:
        if self.index is not None:
            _need()
            self.previous = cuda.current_device()
            cuda.set_device(self.index)

    def __exit__(self, *exc: Any) -> None:
        if self.index is not None:
            cuda.set_device(self.previous)


def empty_cache() -> None:
    """Gives cached memory back."""
    cuda.empty_cache()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """(free, total) bytes of a GPU."""
    _need()
    return cuda.mem_get_info(device_index)
