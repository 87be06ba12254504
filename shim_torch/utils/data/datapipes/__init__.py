"""``torch.utils.data.datapipes``: data sets made of steps, ``IterableWrapper(x).map(f).filter(g).batch(4)``."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes import iter as iter
from shim_torch.utils.data.datapipes import map as map

__getattr__ = _asked_of(__name__)
