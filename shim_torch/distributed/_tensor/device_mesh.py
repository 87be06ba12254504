"""``torch.distributed._tensor.device_mesh``: the old place of ``torch.distributed.device_mesh``."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
__getattr__ = _asked_of(__name__)
