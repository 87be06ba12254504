"""``torch.utils.data.datapipes.map.combinatorics``: random orders."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.map import Shuffler as ShufflerIterDataPipe

__all__ = ["ShufflerIterDataPipe"]
__getattr__ = _asked_of(__name__)
