"""``torch.utils.data.datapipes.iter.callable``: functions of items."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.iter import Collator as CollatorIterDataPipe
from shim_torch.utils.data.datapipes.iter import Mapper as MapperIterDataPipe

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]
__getattr__ = _asked_of(__name__)
