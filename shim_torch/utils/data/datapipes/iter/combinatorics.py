"""``torch.utils.data.datapipes.iter.combinatorics``: random orders."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.iter import Sampler as SamplerIterDataPipe
from shim_torch.utils.data.datapipes.iter import Shuffler as ShufflerIterDataPipe

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]
__getattr__ = _asked_of(__name__)
