"""``torch.distributed.fsdp.fully_sharded_data_parallel``."""

from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy, StateDictType

__all__ = ["FullyShardedDataParallel", "MixedPrecision", "ShardingStrategy", "StateDictType"]

__getattr__ = _asked_of(__name__)
