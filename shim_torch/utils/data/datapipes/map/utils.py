"""``torch.utils.data.datapipes.map.utils``: pipes of what is at hand."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.map import SequenceWrapper as SequenceWrapperMapDataPipe

__all__ = ["SequenceWrapperMapDataPipe"]
__getattr__ = _asked_of(__name__)
