"""What runs in a loader's worker process."""

from __future__ import annotations

import os
import queue
import random
from dataclasses import dataclass
from typing import Any

from . import MP_STATUS_CHECK_INTERVAL


class WorkerInfo:
    """Which worker this process is: id, num_workers, seed, dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, key: str, value: Any) -> None:
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")

    def __repr__(self) -> str:
        return f"WorkerInfo({', '.join(f'{k}={v}' for k, v in self.__dict__.items())})"


_worker_info: WorkerInfo | None = None


@dataclass(frozen=True)
class _ResumeIteration:
    """Another epoch begins; a pipe's draws are of this seed."""

    seed: int | None = None


class ManagerWatchdog:
    """Whether the process that made this one is alive: a worker whose parent was killed is to end."""

    def __init__(self) -> None:
        self.manager_pid = os.getppid()

    def is_alive(self) -> bool:
        """False from when this process has another parent."""
        return os.getppid() == self.manager_pid


def get_worker_info() -> WorkerInfo | None:
    """This worker's WorkerInfo; None in the main process."""
    return _worker_info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """The iterable data set of a worker is at its end."""

    worker_id: int


def run(
    make_fetcher: Any, tasks: Any, results: Any, worker: int, count: int, base_seed: int, dataset: Any, init: Any,
    shared_seed: int | None, process: tuple[int, int], done: Any,
) -> None:  # fmt: skip
    """Answers (number, keys) tasks with (number, worker, batch) until it gets None."""
    global _worker_info
    import numpy as np

    import shim_torch
    from shim_torch._utils import ExceptionWrapper
    from shim_torch.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
    from shim_torch.utils.data.graph_settings import apply_sharding, seeded

    seed, where = base_seed + worker, f"in DataLoader worker process {worker}"
    shim_torch.set_num_threads(1)
    random.seed(seed)
    np.random.seed(_generate_state(base_seed, worker))
    shim_torch.manual_seed(seed)
    _worker_info = WorkerInfo(id=worker, num_workers=count, seed=seed, dataset=dataset)
    if isinstance(dataset, IterDataPipe):  # the same draws in each worker, then its part of the items
        seeded(dataset, shared_seed)
    fetcher, failure = None, None
    try:
        if isinstance(dataset, (IterDataPipe, MapDataPipe)):
            processes, rank = process
            apply_sharding(dataset, count * processes, worker * processes + rank)
        if init is not None:
            init(worker)
        fetcher = make_fetcher(dataset)
    except Exception:
        failure = ExceptionWrapper(where=where)
    watchdog = ManagerWatchdog()
    while (task := _next_task(tasks, watchdog)) is not None:
        if isinstance(task, _ResumeIteration):
            try:
                if isinstance(dataset, IterDataPipe):
                    seeded(dataset, task.seed)
                fetcher = fetcher if failure is not None else make_fetcher(dataset)
            except Exception:
                fetcher, failure = None, ExceptionWrapper(where=where)
            continue
        if done.is_set():  # nobody waits for the rest
            continue
        number, keys = task
        result: Any
        try:
            result = failure if fetcher is None else fetcher.fetch(keys)
        except StopIteration:
            result = _IterableDatasetStopIteration(worker)
        except Exception:
            result = ExceptionWrapper(where=where)
        results.put((number, worker, _packed(result, where)))
    if done.is_set():
        results.cancel_join_thread()  # what was sent may never be read


def _next_task(tasks: Any, watchdog: ManagerWatchdog) -> Any:
    """The next task; None when there will be no more."""
    while True:
        try:
            return tasks.get(timeout=MP_STATUS_CHECK_INTERVAL)
        except queue.Empty:
            if not watchdog.is_alive():
                return None


def _packed(result: Any, where: str) -> bytes:
    """Pickled here: a queue only prints the error of what it can't pickle, and the batch would be missed forever."""
    from multiprocessing.reduction import ForkingPickler

    from shim_torch._utils import ExceptionWrapper

    try:
        return bytes(ForkingPickler.dumps(result))
    except Exception:
        return bytes(ForkingPickler.dumps(ExceptionWrapper(where=where)))


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four 32-bit numbers that seed NumPy in a worker: other ones for every seed and worker."""
    import numpy as np

    seeds = np.random.SeedSequence((worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32 & 0xFFFFFFFF))
    return seeds.generate_state(4).tolist()
