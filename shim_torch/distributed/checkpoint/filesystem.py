"""``torch.distributed.checkpoint.filesystem``: a folder with a file for each process, and ``.metadata``."""

from __future__ import annotations

import dataclasses
import io
import os
import pathlib
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

from shim_torch._impl.distributed.checkpoint_items import box
from shim_torch._impl.distributed.checkpoint_metadata import MetadataUnpickler, no_storage
from shim_torch._impl.distributed.checkpoint_ranks import packed
from shim_torch.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from shim_torch.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from shim_torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from shim_torch.futures import Future

__all__ = ["FileSystemReader", "FileSystemWriter", "SerializationFormat"]

_METADATA = ".metadata"
_VERSION = "1.0.0"


class SerializationFormat(Enum):
    """How tensors are written."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


@dataclass
class _StorageInfo:
    """Where an item is."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None


@dataclass
class _StoragePrefix:
    prefix: str


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def _is_path(checkpoint_id: Any) -> bool:
    """Whether it is a path that is there, or could be made."""
    if isinstance(checkpoint_id, os.PathLike):
        return True
    if "://" in str(checkpoint_id):
        return False
    return any(
        parent.exists() and os.access(parent, os.W_OK) for parent in pathlib.Path(checkpoint_id).absolute().parents
    )


def _on_host(tensor: Any) -> Any:
    """A tensor whose storage has nothing else: what a file is to have."""
    tensor = tensor.detach().cpu()
    whole = tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    return tensor if whole else tensor.clone()


class FileSystemWriter(StorageWriter):
    """Writes to a folder. Each process has ``thread_count`` files, or one for each item without ``single_file_per_rank``.

    Errors: RuntimeError where there is a checkpoint already and ``overwrite`` is False; NotImplementedError for extensions and
    safetensors files.
    """

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True,
        _extensions: Sequence[Any] | None = None, serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:  # fmt: skip
        if _extensions or serialization_format != SerializationFormat.TORCH_SAVE or cache_staged_state_dict:
            raise NotImplementedError(
                "torch.distributed.checkpoint.FileSystemWriter: extensions, safetensors files and cached copies are not "
                "supported by shim-torch"
            )
        self.path = pathlib.Path(path)
        self.single_file_per_rank, self.sync_files, self.overwrite = single_file_per_rank, sync_files, overwrite
        self.thread_count, self.per_thread_copy_ahead = max(1, thread_count), per_thread_copy_ahead
        self.save_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins another checkpoint, in another folder if there is one."""
        if checkpoint_id:
            self.path = pathlib.Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Nothing."""

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Makes the folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _METADATA).exists() and not self.overwrite:
            raise RuntimeError("Checkpoint already exists and self.overwrite=False.")
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Names each process's files."""
        return [dataclasses.replace(p, storage_data=_StoragePrefix(f"__{i}_")) for i, p in enumerate(plans)]

    def _files(self, items: list[WriteItem]) -> list[list[WriteItem]]:
        """The items of each file, of about the same size."""
        if not self.single_file_per_rank:
            return [[item] for item in items]
        if self.thread_count == 1:
            return [items] if items else []
        files: list[list[WriteItem]] = [[] for _ in range(self.thread_count)]
        load = [0] * self.thread_count
        for item in sorted(items, key=lambda i: i.tensor_storage_size() or 0, reverse=True):
            least = load.index(min(load))
            files[least].append(item)
            load[least] += item.tensor_storage_size() or 1
        return [file for file in files if file]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Writes the files; everything is written when it returns."""
        files = self._files(plan.items)
        named = [(f"{plan.storage_data.prefix}{i}.distcp", items) for i, items in enumerate(files)]
        if len(named) < 2:
            return _done([r for name, items in named for r in self._write(name, items, planner)])
        with ThreadPoolExecutor(self.thread_count) as pool:
            results = list(pool.map(lambda pair: self._write(pair[0], pair[1], planner), named))
        return _done([r for part in results for r in part])

    def _write(self, name: str, items: list[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        import shim_torch as torch

        results = []
        with (self.path / name).open("wb") as stream:
            for item in sorted(items, key=lambda i: i.type != WriteItemType.BYTE_IO):
                begin, data = stream.tell(), planner.resolve_data(item)
                if item.type == WriteItemType.BYTE_IO:
                    stream.write(data.getbuffer())
                else:
                    archive = io.BytesIO()  # whose offsets begin with it
                    torch.save(_on_host(data), archive)
                    stream.write(archive.getbuffer())
                length = stream.tell() - begin
                results.append(WriteResult(item.index, length, _StorageInfo(name, begin, length)))
            if self.sync_files:
                stream.flush()
                os.fsync(stream.fileno())
        return results

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Writes ``.metadata``, in place of an older one at once."""
        metadata.storage_data = {r.index: r.storage_data for part in results for r in part}
        metadata.storage_meta, metadata.version = self.storage_meta(), _VERSION
        part = self.path / f"{_METADATA}.tmp"
        with part.open("wb") as stream:
            stream.write(packed(metadata))
            if self.sync_files:
                stream.flush()
                os.fsync(stream.fileno())
        part.replace(self.path / _METADATA)

    def storage_meta(self) -> StorageMeta:
        """The folder, and a number of this checkpoint."""
        return StorageMeta(checkpoint_id=self.checkpoint_id, save_id=self.save_id)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path."""
        return _is_path(checkpoint_id)


class FileSystemReader(StorageReader):
    """Reads from a folder. Errors: NotImplementedError for an extension registry, and for files that one has written."""

    def __init__(self, path: str | os.PathLike[str], _extension_registry: Any = None) -> None:
        if _extension_registry is not None:
            raise NotImplementedError("torch.distributed.checkpoint.FileSystemReader: extensions are not supported")
        self.path = pathlib.Path(path)
        self.storage_data: dict[MetadataIndex, Any] = {}

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins another checkpoint, in another folder if there is one."""
        self.storage_data = {}
        if checkpoint_id:
            self.path = pathlib.Path(checkpoint_id)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What ``.metadata`` says. Errors: FileNotFoundError, UnpicklingError for objects that metadata has not."""
        with (self.path / _METADATA).open("rb") as stream:
            metadata: Metadata = MetadataUnpickler(stream, no_storage).load()
        if metadata.storage_meta is None:
            metadata.storage_meta = StorageMeta()
        return metadata

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Takes the places of all items."""
        assert metadata.storage_data is not None
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """As it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """As they are."""
        return plans

    def _stored(self, items: list[ReadItem]) -> Iterator[tuple[io.BytesIO, list[ReadItem]]]:
        """The bytes of each stored item, and what is read from it."""
        wanted: dict[str, dict[int, tuple[Any, list[ReadItem]]]] = {}
        for item in items:
            info = self.storage_data[item.storage_index]
            if getattr(info, "transform_descriptors", None):
                raise NotImplementedError(
                    f"torch.distributed.checkpoint: an extension wrote {info.relative_path}: {info.transform_descriptors}"
                )
            wanted.setdefault(info.relative_path, {}).setdefault(info.offset, (info, []))[1].append(item)
        for name, places in wanted.items():
            with self._inside(name).open("rb") as stream:
                for offset in sorted(places):
                    info, found = places[offset]
                    stream.seek(offset)
                    yield io.BytesIO(stream.read(info.length)), found

    def _inside(self, name: str) -> pathlib.Path:
        path = self.path / name
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise ValueError(f"torch.distributed.checkpoint: the checkpoint names a file outside its folder: {name}")
        return path

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Reads all items; everything is read when it returns."""
        import shim_torch as torch

        for stream, items in self._stored(plan.items):
            if items[0].type == LoadItemType.BYTE_IO:
                for item in items:
                    stream.seek(0)
                    planner.load_bytes(item, stream)
                continue
            stored = torch.load(stream, map_location="cpu", weights_only=True)
            for item in items:
                target = planner.resolve_tensor(item).detach()
                part = box(stored, item.storage_offsets, item.lengths)
                if target.size() != part.size():
                    raise AssertionError(f"req {item.storage_index} mismatch sizes {target.size()} vs {part.size()}")
                target.copy_(part)
                planner.commit_tensor(item, target)
        return _done(None)

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path."""
        return _is_path(checkpoint_id)
