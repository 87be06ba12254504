"""``DataLoader``: batches of a data set, in this process or by worker processes."""

from __future__ import annotations

import functools
import itertools
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from shim_torch._impl.utils.seeds import drawn_seed
from shim_torch._utils import ExceptionWrapper
from shim_torch.utils.data import _utils
from shim_torch.utils.data._utils import fetch as _fetch
from shim_torch.utils.data._utils import pin_memory as _pin
from shim_torch.utils.data._utils import worker as _worker
from shim_torch.utils.data._utils.collate import default_collate, default_convert
from shim_torch.utils.data._utils.worker import get_worker_info
from shim_torch.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from shim_torch.utils.data.dataset import IterableDataset
from shim_torch.utils.data.graph_settings import apply_sharding as _apply_sharding
from shim_torch.utils.data.graph_settings import apply_shuffle_settings as _apply_shuffle_settings
from shim_torch.utils.data.graph_settings import process_group as _process_group
from shim_torch.utils.data.graph_settings import seeded as _seeded
from shim_torch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
_T = TypeVar("_T")
T_co = TypeVar("T_co", covariant=True)
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[_T]], Any]
_FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        cls = _fetch._MapDatasetFetcher if kind == _DatasetKind.Map else _fetch._IterableDatasetFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[Any]):
    """Keys for data sets that need none."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(None)


def _context(given: Any) -> Any:
    """A context of multiprocessing: itself, or by the name of how it starts processes."""
    import multiprocessing.context

    if isinstance(given, multiprocessing.context.BaseContext):
        return given
    if not isinstance(given, str):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start "
            f"method, but got multiprocessing_context={given}"
        )
    known = multiprocessing.get_all_start_methods()
    if given in known:
        return multiprocessing.get_context(given)
    raise ValueError(
        f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
        f"multiprocessing_context={given!r}"
    )


class DataLoader(Generic[T_co]):
    """Iterates over a data set in batches.

    num_workers: 0 loads in this process; otherwise that many processes load, each ``prefetch_factor`` batches ahead.
    A worker's exception is raised here with its traceback; a worker that dies raises RuntimeError.
    """

    _iterator: Any = None
    __initialized = False
    __multiprocessing_context: Any = None
    _IterableDataset_len_called: int | None = None  # what len() said of an iterable data set

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset, self.num_workers, self.timeout, self.worker_init_fn = (
            dataset,
            num_workers,
            timeout,
            worker_init_fn,
        )
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.multiprocessing_context, self.generator = multiprocessing_context, generator
        self.persistent_workers = persistent_workers
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        self._set_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, attr: str, val: Any) -> None:
        if self.__initialized and attr in _FIXED:
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    @property
    def multiprocessing_context(self) -> Any:
        """What makes the workers; None: the default of Python's multiprocessing."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and not self.num_workers:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={self.num_workers}"
            )
        self.__multiprocessing_context = None if context is None else _context(context)

    def _set_samplers(self, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: bool) -> None:
        if self._dataset_kind == _DatasetKind.Iterable:
            if isinstance(self.dataset, IterDataPipe):
                self.dataset = _apply_shuffle_settings(self.dataset, shuffle)
                shuffle = None
            given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
            shuffle = False
        shuffle = bool(shuffle)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            else:
                sampler = (
                    RandomSampler(self.dataset, generator=self.generator)
                    if shuffle
                    else SequentialSampler(self.dataset)
                )
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size,
            drop_last,
            sampler,
            batch_sampler,
        )

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> Any:
        kind = _MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter
        return kind(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers or not self.num_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warns when there are more workers than CPUs."""
        import os

        if not self.num_workers:
            return
        checked = hasattr(os, "sched_getaffinity")
        cpus = len(os.sched_getaffinity(0)) if checked else os.cpu_count()
        if cpus is not None and self.num_workers <= cpus:
            return
        said = (
            f"Our suggested max number of worker in current system is {cpus}"
            f"{'' if checked else ' (`cpuset` is not taken into account)'}, which is smaller than what this DataLoader is going to "
            "create."
        )
        if cpus is None:
            said = "DataLoader is not able to compute a suggested max number of worker in current system."
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. {said} Please be aware that excessive "
            "worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential "
            "slowness/freeze if necessary.",
            stacklevel=3,
        )


class _BaseDataLoaderIter:
    """What both iterators share. It does not hold the loader, which may hold it: both go when nobody else has them."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        import shim_torch

        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._auto_collation, self._drop_last = loader._auto_collation, loader.drop_last
        self._collate_fn, self._index_sampler = loader.collate_fn, loader._index_sampler
        self._num_workers, self._prefetch_factor = loader.num_workers, loader.prefetch_factor
        self._in_order, self._timeout, self._persistent_workers = (
            loader.in_order,
            loader.timeout,
            loader.persistent_workers,
        )
        self._pin_memory = loader.pin_memory and shim_torch.cuda.is_available()
        self._pin_memory_device, self._generator = loader.pin_memory_device, loader.generator
        pipe = isinstance(loader.dataset, (IterDataPipe, MapDataPipe))
        self._world_size, self._rank = _process_group() if pipe else (1, 0)
        self._shared_seed: int | None = None
        _BaseDataLoaderIter._reset(self, loader, True)
        self._base_seed = self._seed()

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """A pass begins: its batches are counted anew, and the draws of a pipe have a seed that all workers share."""
        self._num_yielded, self._IterableDataset_len_called = 0, loader._IterableDataset_len_called
        self._sampler_iter = iter(self._index_sampler)
        if isinstance(self._dataset, IterDataPipe):
            self._shared_seed = self._across_processes(self._seed())
            _seeded(self._dataset, self._shared_seed)

    @staticmethod
    def _across_processes(seed: int) -> int:
        """The first process's seed, where several share the data."""
        from shim_torch import distributed, tensor

        if _process_group()[0] == 1:
            return seed
        shared = tensor(seed)
        distributed.broadcast(shared, src=0)
        return int(shared.item())

    def _seed(self) -> int:
        return drawn_seed(self._generator)

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        batch = self._next_data()
        self._num_yielded += 1
        told = self._IterableDataset_len_called
        if told is not None and self._num_yielded > told:
            warnings.warn(self._more_than_told(told), stacklevel=2)
        return batch

    def _more_than_told(self, told: int) -> str:
        advice = (
            "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset "
            "replica at each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset "
            "for examples."
        )
        return (
            f"Length of IterableDataset {self._dataset} was reported to be {told}(when accessing len(dataloader)), "
            f"but {self._num_yielded} samples have been fetched. {advice if self._num_workers else ''}"
        )

    def _fetcher_maker(self) -> Callable[[Any], Any]:
        """What makes a fetcher of a data set, here or in a worker."""
        return functools.partial(
            _DatasetKind.create_fetcher,
            self._dataset_kind,
            auto_collation=self._auto_collation,
            collate_fn=self._collate_fn,
            drop_last=self._drop_last,
        )

    def _next_index(self) -> Any:
        """The keys of the next batch; StopIteration at the end."""
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            _apply_sharding(self._dataset, self._world_size, self._rank)
        self._dataset_fetcher = self._fetcher_maker()(self._dataset)

    def _next_data(self) -> Any:
        batch = self._dataset_fetcher.fetch(self._next_index())
        return _pin.pin_memory(batch) if self._pin_memory else batch


def _sharding_worker_init_fn(worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int) -> None:
    """Gives this worker its part of a pipe's items, then calls ``worker_init_fn``."""
    info = get_worker_info()
    assert info is not None
    _apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


def _death(workers: list[Any]) -> tuple[RuntimeError, RuntimeError]:
    """How the first of the workers that ended by themselves did, and the error for all of them."""
    import signal

    first = workers[0]
    if (first.exitcode or 0) < 0:
        how = f"DataLoader worker (pid {first.pid}) is killed by signal: {signal.strsignal(-first.exitcode)}. "
    else:
        how = (
            f"DataLoader worker (pid {first.pid}) exited unexpectedly with exit code {first.exitcode}. Details are lost due to "
            "multiprocessing. Rerunning with num_workers=0 may give better error trace."
        )
    pids = ", ".join(str(w.pid) for w in workers)
    return RuntimeError(how), RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly")


def _check_open_files() -> None:
    """RuntimeError where this process can open few more files: a batch's tensors are files to it."""
    import errno
    import os

    opened = []
    try:
        for _ in range(10):
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError as e:
        if e.errno == errno.EMFILE:
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. Please increase the limit using "
                "`ulimit -n` in the shell or change the sharing strategy by calling "
                "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code"
            ) from None
        raise
    finally:
        for file in opened:
            os.close(file)


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Batches are numbered when they are asked for, and given out in that order (or as they come: ``in_order=False``)."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        import multiprocessing

        context = loader.multiprocessing_context or multiprocessing.get_context()
        self._worker_init_fn = loader.worker_init_fn
        make_fetcher = self._fetcher_maker()
        self._results = context.Queue()
        self._tasks = [context.Queue() for _ in range(self._num_workers)]
        self._workers, self._workers_done_event = [], context.Event()
        for i, tasks in enumerate(self._tasks):
            arguments = (
                make_fetcher,
                tasks,
                self._results,
                i,
                self._num_workers,
                self._base_seed,
                self._dataset,
                self._worker_init_fn,
                self._shared_seed,
                (self._world_size, self._rank),
                self._workers_done_event,
            )
            process = context.Process(target=_worker.run, args=arguments, daemon=True)
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

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        """A pass begins: the first, or another with the same workers."""
        if not first_iter:
            while self._who:
                number, _, _ = self._receive()
                self._who.pop(number, None)
        if not first_iter or isinstance(self._dataset, IterDataPipe):
            super()._reset(loader, first_iter)  # a second seed is drawn at first, as PyTorch draws it
        if not first_iter:
            for tasks in self._tasks:
                tasks.put(_worker._ResumeIteration(self._shared_seed))  # an iterable data set starts again
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

    def _receive(self) -> Any:
        import queue

        waited = 0.0
        while True:
            try:
                number, worker, packed = self._results.get(timeout=min(1.0, self._timeout or 1.0))
                try:
                    return number, worker, pickle.loads(packed)
                except (OSError, RuntimeError):
                    _check_open_files()
                    raise
            except queue.Empty:
                waited += min(1.0, self._timeout or 1.0)
                dead = [w for w in self._workers if not w.is_alive()]
                if dead:
                    self._shutdown_workers()
                    how, error = _death(dead)
                    raise error from how
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
            if isinstance(result, _worker._IterableDatasetStopIteration):
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
        self._workers_done_event.set()
        for tasks in self._tasks:
            tasks.put(None)
        for process in self._workers:
            process.join(timeout=_utils.MP_STATUS_CHECK_INTERVAL)
            if process.is_alive():
                process.terminate()
        self._tasks, self._who, self._live = [], {}, set()

    def __del__(self) -> None:
        try:
            if self._tasks and not sys.is_finalizing():
                self._shutdown_workers()
        except Exception:  # the interpreter may be on its way out, or a worker never started
            for process in self._workers if hasattr(self, "_workers") else ():
                process.terminate()
