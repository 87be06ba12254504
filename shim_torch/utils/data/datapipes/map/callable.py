"""``torch.utils.data.datapipes.map.callable``: functions of items."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.map import Mapper as MapperMapDataPipe

__all__ = ["MapperMapDataPipe"]
__getattr__ = _asked_of(__name__)
