"""What state dicts are to checkpoints: flat names, and the parts of tensors that processes write and read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from shim_torch._impl.distributed.redistribute import places
from shim_torch._impl.native import _core
from shim_torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from shim_torch.distributed.checkpoint.planner import (
    BytesIOWriteData,
    LoadItemType,
    ReadItem,
    SavePlan,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

Path = tuple[Any, ...]


def _holds(value: Any) -> bool:
    """Whether a list has tensors or dicts in it, however deep: others are one entry."""
    if isinstance(value, list):
        return any(map(_holds, value))
    return isinstance(value, (_core.Tensor, Mapping))


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, list) and _holds(value):
        for i, inner in enumerate(value):
            yield from _leaves(inner, (*path, i))
    else:
        yield path, value


def flattened(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """(values by flat names, the paths that the names stand for). Errors: ValueError for two paths of one name."""
    values: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, value in _leaves(state_dict, ()):
        name = ".".join(map(str, path))
        if name in values:
            raise ValueError(f"duplicated flatten key {name}")
        values[name], paths[name] = value, path
    return values, paths


def _room(holder: list[Any], index: int) -> None:
    holder += [None] * (index + 1 - len(holder))


def put(state_dict: Any, path: Path, value: Any) -> None:
    """Sets what a path stands for; makes the dicts and lists on the way."""
    holder = state_dict
    for key, following in zip(path, (*path[1:], None), strict=True):
        if isinstance(holder, list):
            _room(holder, key)
        else:
            key = next((k for k in holder if str(k) == key), key)  # a number, perhaps
        if following is None:
            holder[key] = value
            return
        inner = holder[key] if isinstance(holder, list) else holder.get(key)
        if inner is None:
            inner = holder[key] = [] if isinstance(following, int) else {}
        holder = inner


def _spec(tensor: Any) -> Any:
    return getattr(tensor, "_spec", None)


def _part(tensor: Any) -> ChunkStorageMetadata:
    """What this process has of a tensor. Errors: NotImplementedError for one whose parts have to be added, or are in several runs."""
    spec = _spec(tensor)
    if spec is None:
        return ChunkStorageMetadata(_core.Size([0] * tensor.dim()), tensor.size())
    if any(p.is_partial() for p in spec.placements):
        raise NotImplementedError("torch.distributed.checkpoint: a DTensor with Partial placements; redistribute it")
    held = places(tensor.shape, spec.mesh, spec.placements)
    if any(len(dim) > 1 for dim in held):
        raise NotImplementedError(
            "torch.distributed.checkpoint: a DTensor with a part in several runs; redistribute it"
        )
    shape, offset = [dim[0][1] for dim in held], [dim[0][0] for dim in held]
    return ChunkStorageMetadata(_core.Size(offset), _core.Size(shape))


def local_part(value: Any) -> Any:
    """A tensor's part in this process, without gradients; itself where it is whole; other values as they are."""
    if _spec(value) is not None:
        return value._local_tensor.detach()
    return value.detach() if isinstance(value, _core.Tensor) else value


def written(name: str, value: Any) -> list[WriteItem]:
    """What this process writes of an entry: a part, unless it has nothing of a tensor that is spread."""
    if not isinstance(value, _core.Tensor):
        return [WriteItem(MetadataIndex(name), WriteItemType.BYTE_IO, bytes_io_data=BytesIOWriteData(0))]
    spec, chunk = _spec(value), _part(value)
    if spec is not None and (spec.mesh.get_coordinate() is None or (value.numel() and not prod(chunk.sizes))):
        return []
    kind = WriteItemType.TENSOR if spec is None else WriteItemType.SHARD
    data = TensorWriteData(chunk, TensorProperties.create_from_tensor(value), value.size())
    return [WriteItem(MetadataIndex(name, chunk.offsets), kind, tensor_data=data)]


def _overlap(a: ChunkStorageMetadata, b: ChunkStorageMetadata) -> tuple[list[int], list[int]]:
    """(where what two parts have in common begins in the whole, its shape)."""
    begins = [max(x, y) for x, y in zip(a.offsets, b.offsets, strict=True)]
    ends = [min(x + n, y + m) for x, n, y, m in zip(a.offsets, a.sizes, b.offsets, b.sizes, strict=True)]
    return begins, [max(0, end - begin) for begin, end in zip(begins, ends, strict=True)]


def read(name: str, entry: Any, value: Any) -> list[ReadItem]:
    """What this process reads of an entry: all stored parts that its own part has something of."""
    if not isinstance(entry, TensorStorageMetadata):
        index, none = MetadataIndex(name), _core.Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, none, index, none, none)]
    spec, mine = _spec(value), _part(value)
    if spec is not None and spec.mesh.get_coordinate() is None:
        return []
    found = []
    for i, stored in enumerate(entry.chunks):
        begins, lengths = _overlap(mine, stored)
        if not all(lengths):
            continue
        there = _core.Size(x - y for x, y in zip(begins, mine.offsets, strict=True))
        here = _core.Size(x - y for x, y in zip(begins, stored.offsets, strict=True))
        found.append(
            ReadItem(
                LoadItemType.TENSOR,
                MetadataIndex(name, mine.offsets),
                there,
                MetadataIndex(name, stored.offsets, i),
                here,
                _core.Size(lengths),
            )  # fmt: skip
        )
    return found


def box(tensor: Any, offsets: Sequence[int], lengths: Sequence[int]) -> Any:
    """A view of some elements of each dimension."""
    for dim, (begin, length) in enumerate(zip(offsets, lengths, strict=True)):
        if length != tensor.shape[dim]:
            tensor = tensor.narrow(dim, begin, length)
    return tensor


def without_copies(plans: list[SavePlan], to_lowest: bool) -> list[SavePlan]:
    """Each item in one plan only: the first that has it, or the one that has least to write."""
    owners: dict[MetadataIndex, list[int]] = {}
    sizes: dict[MetadataIndex, int] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            owners.setdefault(item.index, []).append(rank)
            sizes[item.index] = item.tensor_storage_size() or 1
    load = [sum(sizes[i.index] for i in plan.items if len(owners[i.index]) == 1) for plan in plans]
    chosen: dict[MetadataIndex, int] = {}
    for index, ranks in owners.items():
        rank = ranks[0] if to_lowest or len(ranks) == 1 else min(ranks, key=lambda r: (load[r], r))
        if len(ranks) > 1:
            load[rank] += sizes[index]
        chosen[index] = rank
    return [
        dataclasses.replace(plan, items=[item for item in plan.items if chosen[item.index] == rank])
        for rank, plan in enumerate(plans)
    ]


def covered(plans: list[SavePlan], metadata: Metadata) -> bool:
    """Whether the parts of each tensor lie within it, apart from each other, and are all of it."""
    for entry in metadata.state_dict_metadata.values():
        if not isinstance(entry, TensorStorageMetadata):
            continue
        parts = entry.chunks
        for i, part in enumerate(parts):
            inside = all(
                0 <= begin and begin + n <= size
                for begin, n, size in zip(part.offsets, part.sizes, entry.size, strict=True)
            )
            if not inside or (part.sizes and any(all(_overlap(part, other)[1]) for other in parts[:i])):
                return False
        if sum(prod(part.sizes) for part in parts) != prod(entry.size):
            return False
    return True
