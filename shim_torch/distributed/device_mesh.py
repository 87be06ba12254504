"""``torch.distributed.device_mesh``: the type's name; a mesh cannot be made in a group of one process."""

from __future__ import annotations

from typing import Any


class DeviceMesh:
    """A grid of devices."""

    def __init__(self, device_type: str, mesh: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "torch.distributed.DeviceMesh is not supported by shim-torch: tensors are on one device"
        )


def init_device_mesh(device_type: str, mesh_shape: tuple[int, ...], **kwargs: Any) -> DeviceMesh:
    """Raises NotImplementedError: tensors are on one device."""
    raise NotImplementedError(
        "torch.distributed.init_device_mesh is not supported by shim-torch: tensors are on one device"
    )
