"""``torch.distributed._tensor.placement_types``."""

from shim_torch.distributed.tensor import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
