"""``torch.distributed._composable.fsdp``: the old place of ``torch.distributed.fsdp.fully_shard``."""

from shim_torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard

__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "fully_shard"]
