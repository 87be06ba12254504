"""``torch.distributed.checkpoint.state_dict_saver``: all processes of a group write one checkpoint."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

from shim_torch._impl.distributed.checkpoint_ranks import Ranks
from shim_torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from shim_torch.distributed.checkpoint.metadata import Metadata
from shim_torch.distributed.checkpoint.planner import SavePlan, SavePlanner
from shim_torch.distributed.checkpoint.stateful import Stateful
from shim_torch.distributed.checkpoint.storage import StorageWriter

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """What writes meanwhile."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """What ``async_save`` gives with a stager that works by itself."""

    staging_completion: Future[None]
    upload_completion: Future[Any]


def _writer(writer: StorageWriter | None, checkpoint_id: Any) -> StorageWriter:
    if writer is not None:
        writer.reset(checkpoint_id)
        return writer
    if not checkpoint_id:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    from shim_torch.distributed.checkpoint.filesystem import FileSystemWriter

    made = FileSystemWriter(checkpoint_id)
    made.reset(checkpoint_id)
    return made


def _states(state_dict: dict[str, Any]) -> dict[str, Any]:
    return {key: value.state_dict() if isinstance(value, Stateful) else value for key, value in state_dict.items()}


def save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None, process_group: Any = None,
    no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:  # fmt: skip
    """Writes a state dict, of each DTensor the parts and of what all processes have alike one copy. All processes call it.

    Objects with ``state_dict`` are asked for it. Errors: CheckpointException in all processes where one failed.
    """
    if not use_collectives:
        raise NotImplementedError(
            "torch.distributed.checkpoint.save: use_collectives=False is not supported by shim-torch"
        )
    return _save(
        _states(state_dict), _writer(storage_writer, checkpoint_id), Ranks(process_group, no_dist),
        planner or DefaultSavePlanner(),
    )  # fmt: skip


def _save(state_dict: dict[str, Any], writer: StorageWriter, ranks: Ranks, planner: SavePlanner) -> Metadata:
    metadata: Any = None

    def planned() -> SavePlan:
        planner.set_up_planner(
            state_dict=state_dict, storage_meta=writer.storage_meta(), is_coordinator=ranks.is_coordinator
        )
        writer.set_up_storage_writer(ranks.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    def together(plans: list[SavePlan]) -> list[SavePlan]:
        nonlocal metadata
        plans, metadata = planner.create_global_plan(plans)
        return writer.prepare_global_plan(plans)

    def written() -> Any:
        return writer.write_data(planner.finish_plan(plan), planner).wait()

    def finished(results: list[Any]) -> Metadata:
        writer.finish(metadata=metadata, results=results)
        return metadata  # type: ignore[no-any-return]

    plan = ranks.step("plan", planned, together)
    return ranks.same("write", written, finished)  # type: ignore[no-any-return]


def _copies(value: Any) -> Any:
    """Tensors in memory of their own, on the CPU: training goes on with the others."""
    from shim_torch._impl.native import _core
    from shim_torch.utils import _pytree as pytree

    return pytree.tree_map_only(_core.Tensor, lambda t: t.detach().to("cpu", copy=True), value)


def async_save(
    state_dict: dict[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None, process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD, async_stager: Any = None,
    no_dist: bool = False, use_collectives: bool = True,
) -> Future[Any]:  # fmt: skip
    """Copies the state dict, and writes it in a thread; a future of the metadata.

    In a group of several processes everything is written when it returns. Errors: NotImplementedError for stagers and
    AsyncCheckpointerType.PROCESS.
    """
    if async_stager is not None or async_checkpointer_type != AsyncCheckpointerType.THREAD:
        raise NotImplementedError(
            "torch.distributed.checkpoint.async_save: a thread writes, without a stager of its own"
        )
    more = {
        "checkpoint_id": checkpoint_id, "storage_writer": storage_writer, "planner": planner, "process_group": process_group,
        "no_dist": no_dist, "use_collectives": use_collectives,
    }  # fmt: skip
    if Ranks(process_group, no_dist).size == 1:
        pool = ThreadPoolExecutor(1)
        running = pool.submit(save, _copies(_states(state_dict)), **more)
        pool.shutdown(wait=False)
        return running
    done: Future[Any] = Future()
    done.set_result(save(state_dict, **more))  # type: ignore[arg-type]
    return done


def save_state_dict(
    state_dict: dict[str, Any], storage_writer: StorageWriter, process_group: Any = None, coordinator_rank: int = 0,
    no_dist: bool = False, planner: SavePlanner | None = None,
) -> Metadata:  # fmt: skip
    """The older form of ``save``. Errors: NotImplementedError for another coordinator than rank 0."""
    warnings.warn(
        "'save_state_dict' is deprecated and will be removed in future versions. Please use 'save' instead.",
        FutureWarning, stacklevel=2,
    )  # fmt: skip
    if coordinator_rank:
        raise NotImplementedError("torch.distributed.checkpoint.save_state_dict: rank 0 coordinates")
    storage_writer.reset()
    return _save(state_dict, storage_writer, Ranks(process_group, no_dist), planner or DefaultSavePlanner())
