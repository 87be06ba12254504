"""``torch.distributed.tensor._utils``: what part of a tensor a device holds."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributed.redistribute import local_shape


def compute_local_shape_and_global_offset(
    global_shape: Any, mesh: Any, placements: Any
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(the shape of this process's part, where it begins)."""
    return local_shape(global_shape, mesh, placements)
