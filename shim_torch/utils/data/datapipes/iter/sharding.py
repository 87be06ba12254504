"""``torch.utils.data.datapipes.iter.sharding``: a worker"s share."""

from shim_torch._impl.surface.missing import asked_of as _asked_of
from shim_torch.utils.data.datapipes.iter import ShardingFilter as ShardingFilterIterDataPipe

__all__ = ["ShardingFilterIterDataPipe"]
__getattr__ = _asked_of(__name__)
