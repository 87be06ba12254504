"""``torch.distributed._symmetric_memory``: memory that GPUs of several processes share, which is not supported."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.surface.not_built import ONE_PROCESS, declare


def is_symm_mem_enabled_for_group(group_name: str) -> bool:
    """Whether a group shares memory: no."""
    return False


def is_nvshmem_available() -> bool:
    """Whether NVSHMEM is there: no."""
    return False


def get_backend(device: Any) -> str | None:
    """How memory is shared: not at all."""
    return None


declare(globals(), ONE_PROCESS, "empty rendezvous get_symm_mem_workspace enable_symm_mem_for_group set_backend")
