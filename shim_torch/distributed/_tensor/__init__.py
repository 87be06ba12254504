"""``torch.distributed._tensor``: the old place of ``torch.distributed.tensor``."""

from typing import Any

from shim_torch.distributed.tensor import (
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)

__all__ = ["DTensor", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor"]


def __getattr__(name: str) -> Any:
    from shim_torch.distributed import tensor

    return getattr(tensor, name)
