"""``torch.distributed.checkpoint.state_dict_loader``: processes read their parts of a checkpoint, however many wrote it."""

from __future__ import annotations

import os
import warnings
from typing import Any

from shim_torch._impl.distributed.checkpoint_ranks import Ranks
from shim_torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from shim_torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from shim_torch.distributed.checkpoint.stateful import Stateful
from shim_torch.distributed.checkpoint.storage import StorageReader

__all__ = ["load", "load_state_dict"]


def _reader(reader: StorageReader | None, checkpoint_id: Any) -> StorageReader:
    if reader is not None:
        reader.reset(checkpoint_id)
        return reader
    if not checkpoint_id:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    from shim_torch.distributed.checkpoint.filesystem import FileSystemReader

    return FileSystemReader(checkpoint_id)


def load(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None, planner: LoadPlanner | None = None, process_group: Any = None,
    no_dist: bool = False,
) -> None:  # fmt: skip
    """Reads into a state dict: tensors in place, of each DTensor this process's part; other values take their places.

    All processes call it. Objects with ``load_state_dict`` get what was read. Objects that are no tensors are unpickled:
    the checkpoint has to be trusted. Errors: CheckpointException in all processes where one failed.
    """
    reader = _reader(storage_reader, checkpoint_id)
    states = {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state_dict.items()}
    _load(states, reader, Ranks(process_group, no_dist), planner or DefaultLoadPlanner())
    for key, value in list(state_dict.items()):
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def _load(state_dict: dict[str, Any], reader: StorageReader, ranks: Ranks, planner: LoadPlanner) -> None:
    def planned() -> LoadPlan:
        metadata = reader.read_metadata()
        planner.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        reader.set_up_storage_reader(metadata, ranks.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    def together(plans: list[LoadPlan]) -> list[LoadPlan]:
        return reader.prepare_global_plan(planner.create_global_plan(plans))

    def read() -> None:
        reader.read_data(planner.finish_plan(plan), planner).wait()

    plan = ranks.step("plan", planned, together)
    ranks.same("read", read, lambda results: None)


def load_state_dict(
    state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Any = None, coordinator_rank: int = 0,
    no_dist: bool = False, planner: LoadPlanner | None = None,
) -> None:  # fmt: skip
    """The older form of ``load``. Errors: NotImplementedError for another coordinator than rank 0."""
    warnings.warn(
        "'load_state_dict' is deprecated and will be removed in future versions. Please use 'load' instead.",
        FutureWarning, stacklevel=2,
    )  # fmt: skip
    if coordinator_rank:
        raise NotImplementedError("torch.distributed.checkpoint.load_state_dict: rank 0 coordinates")
    storage_reader.reset()
    _load(state_dict, storage_reader, Ranks(process_group, no_dist), planner or DefaultLoadPlanner())


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None, *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None, process_group: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """A new state dict of what a checkpoint has under names, or of all of it; each process has whole tensors."""
    wanted = {keys} if isinstance(keys, str) else keys
    found: dict[str, Any] = {}
    reader = _reader(storage_reader, checkpoint_id)
    _load(found, reader, Ranks(process_group, process_group is None), _EmptyStateDictLoadPlanner(wanted or None))
    return found
