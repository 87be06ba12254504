"""``torch.distributed.fsdp.fully_sharded_data_parallel``."""

from shim_torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy, StateDictType

__all__ = ["FullyShardedDataParallel", "MixedPrecision", "ShardingStrategy", "StateDictType"]
