"""``torch.distributed.checkpoint``: checkpoints written by many processes, which are not supported; use ``torch.save``."""

from __future__ import annotations

from typing import Any


def _refuse(name: str) -> Any:
    raise NotImplementedError(
        f"torch.distributed.checkpoint.{name} is not supported by shim-torch: use torch.save and torch.load"
    )


def save(*_: Any, **__: Any) -> Any:
    return _refuse("save")


def load(*_: Any, **__: Any) -> Any:
    return _refuse("load")


def async_save(*_: Any, **__: Any) -> Any:
    return _refuse("async_save")


save_state_dict, load_state_dict = save, load


class StorageReader:
    """Reads a checkpoint; making one raises NotImplementedError."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse(type(self).__name__)


class StorageWriter(StorageReader):
    """Writes a checkpoint; making one raises NotImplementedError."""


class FileSystemReader(StorageReader):
    """Reads from a folder; making one raises NotImplementedError."""


class FileSystemWriter(StorageWriter):
    """Writes to a folder; making one raises NotImplementedError."""


class DefaultSavePlanner:
    """Plans what is written; making one raises NotImplementedError."""

    def __init__(self, *_: Any, **__: Any) -> None:
        _refuse(type(self).__name__)


class DefaultLoadPlanner(DefaultSavePlanner):
    """Plans what is read; making one raises NotImplementedError."""


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.distributed.checkpoint", name)
