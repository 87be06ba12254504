"""``torch.utils.data.datapipes.map.grouping``: batches."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.map import Batcher as BatcherMapDataPipe

__all__ = ["BatcherMapDataPipe"]
__getattr__ = _asked_of(__name__)
