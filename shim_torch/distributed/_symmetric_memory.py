"""``torch.distributed._symmetric_memory``: which groups overlap their parallel linear layers; memory that programs share is not built."""

from __future__ import annotations

import warnings
from typing import Any

from shim_torch._impl.distributed.functional import group_of
from shim_torch._impl.distributed.overlapped_choice import asked_for
from shim_torch._impl.surface.not_built import ONE_PROCESS, declare


def enable_symm_mem_for_group(group_name: str) -> None:
    """Linear layers that ``parallelize_module`` spreads over the group overlap their collectives with parts of their products.

    Errors: RuntimeError for a name that is no group's.
    """
    warnings.warn(
        "`enable_symm_mem_for_group` is deprecated. There is no need to call this function anymore.",
        FutureWarning,
        stacklevel=2,
    )
    asked_for.add(group_of(group_name))


def is_symm_mem_enabled_for_group(group_name: str) -> bool:
    """Whether that was asked for."""
    return any(group.group_name == group_name for group in asked_for)


def is_nvshmem_available() -> bool:
    """Whether NVSHMEM is there: no."""
    return False


def get_backend(device: Any) -> str | None:
    """How memory is shared: not at all."""
    return None


declare(globals(), ONE_PROCESS, "empty rendezvous get_symm_mem_workspace set_backend")
