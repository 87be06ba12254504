"""``torch.distributed.checkpoint``: checkpoints that many processes write and read, in PyTorch's format."""

from __future__ import annotations

from shim_torch.distributed.checkpoint.api import CheckpointException
from shim_torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from shim_torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from shim_torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from shim_torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner, ReadItem, SavePlan, SavePlanner, WriteItem
from shim_torch.distributed.checkpoint.state_dict_loader import load, load_state_dict
from shim_torch.distributed.checkpoint.state_dict_saver import async_save, save, save_state_dict
from shim_torch.distributed.checkpoint.storage import StorageReader, StorageWriter

__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "LoadPlan", "LoadPlanner", "Metadata", "ReadItem", "SavePlan", "SavePlanner",
    "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem", "async_save", "load", "load_state_dict", "save",
    "save_state_dict",
]  # fmt: skip
