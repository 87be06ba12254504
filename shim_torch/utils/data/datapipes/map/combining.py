"""``torch.utils.data.datapipes.map.combining``: several pipes as one."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.map import Concater as ConcaterMapDataPipe
from shim_torch.utils.data.datapipes.map import Zipper as ZipperMapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]
__getattr__ = _asked_of(__name__)
