"""``torch.utils.data.datapipes.iter.grouping``: batches."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.iter import Batcher as BatcherIterDataPipe
from shim_torch.utils.data.datapipes.iter import UnBatcher as UnBatcherIterDataPipe

__all__ = ["BatcherIterDataPipe", "UnBatcherIterDataPipe"]
__getattr__ = _asked_of(__name__)
