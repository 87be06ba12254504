"""``torch.distributed.checkpoint.default_planner``: every process writes its parts, what all have alike is written once."""

from __future__ import annotations

import dataclasses
import io
from collections import ChainMap
from typing import Any

from shim_torch._impl.distributed import checkpoint_items as items
from shim_torch._impl.native import _core
from shim_torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from shim_torch.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]


class DefaultSavePlanner(SavePlanner):
    """Names are flat (``model.weight``); objects are pickled with ``torch.save``.

    ``dedup_save_to_lowest_rank``: the lowest rank writes what several have; otherwise the one that has least to write.
    ``enable_plan_caching`` is not there.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:  # fmt: skip
        if enable_plan_caching:
            raise NotImplementedError(
                "torch.distributed.checkpoint: enable_plan_caching is not supported by shim-torch"
            )
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, Any] = {}
        self.state_dict: dict[str, Any] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: StorageMeta | None = None, is_coordinator: bool = False
    ) -> None:
        """Makes the names flat."""
        if self.flatten_state_dict:
            state_dict, self.mappings = items.flattened(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        """All that this process has."""
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """Each item once. Errors: ValueError where parts overlap or leave gaps."""
        kept = items.without_copies(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(kept)
        if self.flatten_state_dict:
            merged = dict(ChainMap(*[p.planner_data for p in plans]))
            metadata = dataclasses.replace(metadata, planner_data=merged)
        if not items.covered(plans, metadata):
            raise ValueError("Failed to validate global plan")
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """As it is."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Any:
        """A tensor of this process, or an object's bytes."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """What the state dict has: of a tensor that is spread, the part."""
        return items.local_part(self.state_dict[index.fqn])

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """The bytes of an object."""
        if write_item.type != WriteItemType.BYTE_IO:
            return object
        import shim_torch as torch

        stream = io.BytesIO()
        torch.save(object, stream)
        return stream


class DefaultLoadPlanner(LoadPlanner):
    """Tensors are read in place, in any division into parts; other values replace those of the state dict.

    ``allow_partial_load``: what the checkpoint does not have stays as it is.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.flatten_state_dict, self.flatten_sharded_tensors = flatten_state_dict, flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.mappings: dict[str, Any] = {}
        self.original_state_dict: dict[str, Any] = {}
        self.metadata: Metadata | None = None

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Makes the names flat."""
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = items.flattened(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """All that this process has."""
        assert self.metadata is not None
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """As they are."""
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """As it is."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Unpickles an object, which has to come from a file that is trusted."""
        import shim_torch as torch

        name = read_item.dest_index.fqn
        loaded = torch.load(value, weights_only=False)
        self.state_dict[name] = loaded
        if self.flatten_state_dict:
            items.put(self.original_state_dict, self.mappings[name], loaded)

    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The part of this process's tensor that an item fills."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """There is nothing to do: the tensor is the state dict's."""

    def lookup_tensor(self, index: MetadataIndex) -> Any:
        """What the state dict has: of a tensor that is spread, the part."""
        return items.local_part(self.state_dict[index.fqn])

    def transform_tensor(self, read_item: ReadItem, tensor: Any) -> Any:
        """What an item fills of a tensor."""
        return items.box(tensor, read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fills an empty state dict with all that a checkpoint has, or with what begins with one of ``keys``."""

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def _wanted(self, name: str, path: Any) -> bool:
        if self.keys is None or name in self.keys:
            return True
        begins = [".".join(map(str, path[:n])) for n in range(1, len(path) + 1)]
        return any(begin in self.keys for begin in begins)

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        """Makes the state dict. Errors: AssertionError for one that is not empty."""
        import shim_torch as torch

        assert not state_dict and metadata is not None, "the state dict has to be empty"
        paths = metadata.planner_data or {}
        for name, entry in metadata.state_dict_metadata.items():
            path = paths.get(name, (name,))
            if self._wanted(name, path):
                whole = isinstance(entry, TensorStorageMetadata)
                value = torch.empty(entry.size, dtype=entry.properties.dtype) if whole else None
                items.put(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """Items of all entries."""
    return SavePlan([item for name, value in state_dict.items() for item in items.written(name, value)])


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The metadata of plans in which each item is once, and the plans with each part's place in it."""
    found: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        placed = []
        for item in plan.items:
            name, data = item.index.fqn, item.tensor_data
            if data is None:
                found[name] = BytesStorageMetadata()
            else:
                entry = found.setdefault(name, TensorStorageMetadata(data.properties, data.size, []))
                if rewrite_index_hints:
                    item = dataclasses.replace(item, index=dataclasses.replace(item.index, index=len(entry.chunks)))
                entry.chunks.append(data.chunk)
            placed.append(item)
        plans.append(dataclasses.replace(plan, items=placed))
    return plans, Metadata(found)


def create_default_local_load_plan(state_dict: dict[str, Any], metadata: Metadata, strict: bool = True) -> LoadPlan:
    """Items for all entries. Errors: RuntimeError for one that is missing, ValueError for one of another size or kind."""
    found: list[ReadItem] = []
    for name, value in state_dict.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if isinstance(entry, TensorStorageMetadata):
            if not isinstance(value, _core.Tensor):
                raise ValueError(
                    f"Invalid checkpoint metadata for {name}, expected BytesStorageMetadata but found {type(entry)}"
                )
            if entry.size != value.size():
                raise ValueError(f"Size mismatch between saved {entry.size} and current: {value.size()} for {name}")
        found += items.read(name, entry, value)
    return LoadPlan(found)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """As they are."""
    return all_plans
