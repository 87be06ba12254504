"""``torch.utils.data.datapipes.iter.utils``: pipes of what is at hand."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.iter import IterableWrapper as IterableWrapperIterDataPipe

__all__ = ["IterableWrapperIterDataPipe"]
__getattr__ = _asked_of(__name__)
