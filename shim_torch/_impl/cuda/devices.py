"""Devices of ``torch.cuda``: their indices, and which is current."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.cuda import cupy_link
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming


def index_of(device: Any, optional: bool = True) -> int:
    """Device argument (None, int, str, torch.device) -> index; None is the current device."""
    if not cupy_link.linked:
        cupy_link.link_cupy()  # every question about a device comes by here
    if device is None and optional:
        return _core.cuda_current_device()
    if isinstance(device, int) and not isinstance(device, bool):
        return device if device >= 0 else _core.cuda_current_device()
    device = _core.device(device) if isinstance(device, str) else device
    if not isinstance(device, _core.device):
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    return _core.cuda_current_device() if device.index is None else device.index


class device:
    """Context manager: a device is current within; None and negative indices change nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else index_of(device) if not isinstance(device, int) else device
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.prev_idx = _core.cuda_current_device()
            if self.prev_idx != self.idx:
                _core.cuda_set_device(self.idx)

    def __exit__(self, *exc: Any) -> None:
        if self.idx >= 0 and self.prev_idx != self.idx:
            _core.cuda_set_device(self.prev_idx)


class _DeviceGuard(device):
    """``device`` for an index that needs no reading: what generated code writes. Negative indices change nothing."""

    def __init__(self, index: int) -> None:
        self.idx = index
        self.prev_idx = -1


def _exchange_device(device: int) -> int:
    """Makes a device current; the index of the one before. A negative index changes nothing and gives -1."""
    if device < 0:
        return -1
    before = _core.cuda_current_device()
    if before != device:
        _core.cuda_set_device(device)
    return before


_maybe_exchange_device = _exchange_device  # PyTorch's makes no context on the device; ours is made when it is used


class device_of(device):
    """Context manager: the device of a tensor is current within; CPU tensors change nothing."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


naming.present(globals(), "torch.cuda")
