"""``torch.utils.data.datapipes.iter.combining``: several pipes as one."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.iter import Concater as ConcaterIterDataPipe
from shim_torch.utils.data.datapipes.iter import Multiplexer as MultiplexerIterDataPipe
from shim_torch.utils.data.datapipes.iter import Zipper as ZipperIterDataPipe

__all__ = ["ConcaterIterDataPipe", "MultiplexerIterDataPipe", "ZipperIterDataPipe"]
__getattr__ = _asked_of(__name__)
