"""``torch.multiprocessing``: Python's multiprocessing, with ``spawn``. Tensors are copied between processes."""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403
from typing import Any

from shim_torch.multiprocessing import reductions
from shim_torch.multiprocessing.spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    *_python.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """How tensors go to other processes: as copies, under PyTorch's name of the default."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts the default only."""
    if new_strategy not in get_all_sharing_strategies():
        raise NotImplementedError(
            f"torch.multiprocessing.set_sharing_strategy({new_strategy!r}) is not supported by shim-torch"
        )


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and hasattr(_python, name):
        return getattr(_python, name)
    from shim_torch._missing import missing

    return missing("torch.multiprocessing", name)
