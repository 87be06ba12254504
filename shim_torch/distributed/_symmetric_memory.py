"""``torch.distributed._symmetric_memory``: memory that GPUs of several processes share, which is not supported."""

from __future__ import annotations

from typing import Any


def _refuse(what: str) -> NotImplementedError:
    return NotImplementedError(
        f"torch.distributed._symmetric_memory.{what} is not supported by shim-torch: groups have one process"
    )


def empty(*_: Any, **__: Any) -> Any:
    """A tensor in shared memory: NotImplementedError."""
    raise _refuse("empty")


def rendezvous(tensor: Any, group: Any) -> Any:
    """The handles of the other processes: NotImplementedError."""
    raise _refuse("rendezvous")


def get_symm_mem_workspace(*_: Any, **__: Any) -> Any:
    raise _refuse("get_symm_mem_workspace")


def enable_symm_mem_for_group(group_name: str) -> None:
    raise _refuse("enable_symm_mem_for_group")


def is_symm_mem_enabled_for_group(group_name: str) -> bool:
    """Whether a group shares memory: no."""
    return False


def is_nvshmem_available() -> bool:
    """Whether NVSHMEM is there: no."""
    return False


def get_backend(device: Any) -> str | None:
    """How memory is shared: not at all."""
    return None


def set_backend(name: str) -> None:
    raise _refuse("set_backend")


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.distributed._symmetric_memory", name)
