"""``torch.distributed._tensor.placement_types``."""

from shim_torch.distributed.tensor import Partial, Placement, Replicate, Shard
from shim_torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

__all__ = ["DTensorSpec", "Partial", "Placement", "Replicate", "Shard", "TensorMeta"]
