"""A loader's worker processes: what runs in one, and the iterator that asks them for batches."""

from __future__ import annotations

import itertools
import os
import pickle
import queue
import random
import weakref
from dataclasses import dataclass
from typing import Any

from shim_torch._impl.utils.worker_processes import end_workers
from shim_torch._utils import ExceptionWrapper
from shim_torch.utils.data._utils import pin_memory as _pin
from shim_torch.utils.data._utils.fetch import _BaseDataLoaderIter
from shim_torch.utils.data._utils.signal_handling import _check_open_files, _death
from shim_torch.utils.data.datapipes.datapipe import IterDataPipe
from shim_torch.utils.data.graph_settings import apply_sharding as _apply_sharding

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


def _sharding_worker_init_fn(worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int) -> None:
    """Gives this worker its part of a pipe's items, then calls ``worker_init_fn``."""
    info = get_worker_info()
    assert info is not None
    _apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches are numbered when they are asked for, and given out in that order (or as they come: ``in_order=False``)."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        import multiprocessing

        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._worker_init_fn = loader.worker_init_fn
        make_fetcher = self._fetcher_maker()
        self._results = context.Queue()
        self._tasks = [context.Queue() for _ in range(self._num_workers)]
        self._workers: list[Any] = []
        self._workers_done_event = context.Event()
        kept = (self._workers, self._tasks, self._results, self._workers_done_event, MP_STATUS_CHECK_INTERVAL)
        self._end = weakref.finalize(self, end_workers, os.getpid(), *kept)
        for i, tasks in enumerate(self._tasks):
            arguments = (
                make_fetcher, tasks, self._results, i, self._num_workers, self._base_seed, self._dataset,
                self._worker_init_fn, self._shared_seed, (self._world_size, self._rank), self._workers_done_event,
            )  # fmt: skip
            process = context.Process(target=run, args=arguments, daemon=True)
            process.start()
            self._workers.append(process)
        self._reset(loader, first_iter=True)

    def _start(self) -> None:
        self._asked, self._given, self._done = 0, 0, {}  # type: int, int, dict[int, Any]
        self._live = set(range(len(self._workers)))
        self._who: dict[int, int] = {}
        self._loads = [0] * len(self._workers)
        self._turns = itertools.cycle(range(len(self._workers)))
        for _ in range(self._prefetch * len(self._workers)):
            self._ask()

    @property
    def _prefetch(self) -> int:
        return self._prefetch_factor or 2

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """A pass begins: the first, or another with the same workers."""
        if not first_iter:
            while self._who:
                number, _, _ = self._receive()
                self._who.pop(number, None)
        if not first_iter or isinstance(self._dataset, IterDataPipe):
            super()._reset(loader, first_iter)  # a second seed is drawn at first, as PyTorch draws it
        if not first_iter:
            for tasks in self._tasks:
                tasks.put(_ResumeIteration(self._shared_seed))  # an iterable data set starts again
        self._start()

    def _ask(self) -> None:
        """Asks for the next batch: workers take turns, so that which one makes it does not depend on their speed."""
        try:
            keys = self._next_index()
        except StopIteration:
            return
        for worker in itertools.islice(self._turns, len(self._workers)):
            if worker in self._live and (self._in_order or self._loads[worker] < self._prefetch):
                break
        else:
            return
        self._tasks[worker].put((self._asked, keys))
        self._who[self._asked] = worker
        self._loads[worker] += 1
        self._asked += 1

    def _miss_dead_workers(self) -> None:
        dead = [w for w in self._workers if not w.is_alive()]
        if dead:
            self._shutdown_workers()
            how, error = _death(dead)
            raise error from how

    def _receive(self) -> Any:
        waited = 0.0
        while True:
            try:
                number, worker, packed = self._results.get(timeout=min(1.0, self._timeout or 1.0))
                try:
                    return number, worker, pickle.loads(packed)
                except (OSError, EOFError, RuntimeError) as error:
                    if isinstance(error, (ConnectionError, EOFError, FileNotFoundError)):
                        self._workers[worker].join(0.5)  # it may be ending: with it the memory that it lent is gone
                        self._miss_dead_workers()
                    _check_open_files()
                    raise
            except queue.Empty:
                waited += min(1.0, self._timeout or 1.0)
                self._miss_dead_workers()
                if self._timeout and waited >= self._timeout:
                    self._shutdown_workers()
                    raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None

    def _next_data(self) -> Any:
        while True:
            while self._given < self._asked and self._given not in self._who and self._given not in self._done:
                self._given += 1
            if self._given in self._done:
                return self._hand_out(*self._done.pop(self._given))
            if not self._who:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            number, worker, result = self._receive()
            self._who.pop(number, None)
            if isinstance(result, _IterableDatasetStopIteration):
                if worker in self._live:
                    self._live.discard(worker)
                    self._ask()
            elif self._in_order and number != self._given:
                self._done[number] = (worker, result)
            else:
                return self._hand_out(worker, result)

    def _hand_out(self, worker: int, result: Any) -> Any:
        self._loads[worker] -= 1
        self._ask()
        if isinstance(result, ExceptionWrapper):
            result.reraise()  # the workers go on: the next batch may be good
        return _pin.pin_memory(result) if self._pin_memory else result

    def _shutdown_workers(self) -> None:
        self._end()
        self._tasks, self._who, self._live = [], {}, set()
