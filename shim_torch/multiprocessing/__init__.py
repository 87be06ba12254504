"""``torch.multiprocessing``: Python's multiprocessing, with ``spawn``. CPU tensors that are sent share their memory."""

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
    """How a shared file is told to another process: by its descriptor or by its path."""
    return {"file_descriptor", "file_system"}


def get_sharing_strategy() -> str:
    """The way that new sharing takes: "file_descriptor" or "file_system"."""
    return reductions.sharing_strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Chooses between "file_descriptor" and "file_system"."""
    assert new_strategy in get_all_sharing_strategies()
    reductions.sharing_strategy = new_strategy


reductions.init_reductions()


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and hasattr(_python, name):
        return getattr(_python, name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch.multiprocessing", name)
