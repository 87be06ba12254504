"""``torch.utils.dlpack``: tensors exchanged with other libraries without copying."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.tensor.from_data import from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """The device numbers of dlpack.h."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule over a tensor's memory; it is to be consumed once."""
    return _core.to_dlpack(tensor)
