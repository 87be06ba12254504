"""``torch.distributed.tensor.placement_types``."""

from __future__ import annotations

from shim_torch.distributed.tensor import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class _StridedShard(Shard):
    """Split along a dimension that another mesh dimension splits as well."""

    def __init__(self, dim: int, *, split_factor: int) -> None:
        super().__init__(dim)
        self.split_factor = split_factor
