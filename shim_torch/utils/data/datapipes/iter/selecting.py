"""``torch.utils.data.datapipes.iter.selecting``: some of the items."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.iter import Filter as FilterIterDataPipe

__all__ = ["FilterIterDataPipe"]
__getattr__ = _asked_of(__name__)
