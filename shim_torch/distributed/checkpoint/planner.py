"""``torch.distributed.checkpoint.planner``: which process writes and reads what."""

from __future__ import annotations

import abc
import io
from dataclasses import dataclass
from enum import Enum, auto
from functools import reduce
from operator import mul
from typing import Any

from shim_torch._impl.native import _core
from shim_torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData",
    "LoadItemType",
    "LoadPlan",
    "LoadPlanner",
    "ReadItem",
    "SavePlan",
    "SavePlanner",
    "TensorWriteData",
    "WriteItem",
    "WriteItemType",
]


class WriteItemType(Enum):
    """What is written."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """A pickled object's size."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """A part of a tensor, and the whole's properties and size."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: _core.Size


@dataclass(frozen=True)
class WriteItem:
    """One thing that a process writes."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of a tensor's part; None of an object."""
        if self.tensor_data is None:
            return None
        return reduce(mul, self.tensor_data.chunk.sizes, 1) * int(self.tensor_data.properties.dtype.itemsize)


@dataclass(frozen=True)
class ReadItem:
    """One thing that a process reads: ``lengths`` elements at an offset of what is stored, for an offset of what is there."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: _core.Size
    storage_index: MetadataIndex
    storage_offsets: _core.Size
    lengths: _core.Size


@dataclass(frozen=True)
class SavePlan:
    """What a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Decides what each process writes; called in the order of the methods here."""

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """On all processes."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """On all processes: what this one has."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """On the coordinator: the plans for all, and the checkpoint's metadata."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """On all processes: the coordinator's plan for this one."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Any:
        """The tensor, or the bytes in an io.BytesIO, of an item."""


class LoadPlanner(abc.ABC):
    """Decides what each process reads, and where it goes; called in the order of the methods here."""

    @abc.abstractmethod
    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """On all processes."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """On all processes: what this one wants."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """On the coordinator."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """On all processes: the coordinator's plan for this one."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Takes an object's bytes."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where an object's bytes are read to. Errors: NotImplementedError, unless a planner has it."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The tensor that an item is copied to."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """The tensor of ``resolve_tensor`` has its values now."""
