"""``torch.utils.data.datapipes``: data sets made of steps, ``IterableWrapper(x).map(f).filter(g).batch(4)``."""

from shim_torch.utils.data.datapipes import iter as iter
from shim_torch.utils.data.datapipes import map as map
