"""``DataLoader``: batches of a data set, in this process or by worker processes."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from shim_torch._impl.utils.worker_processes import context_of
from shim_torch.utils.data._utils.collate import default_collate, default_convert
from shim_torch.utils.data._utils.fetch import (  # noqa: F401
    _BaseDataLoaderIter,
    _DatasetKind,
    _SingleProcessDataLoaderIter,
)
from shim_torch.utils.data._utils.worker import (  # noqa: F401
    _MultiProcessingDataLoaderIter,
    _sharding_worker_init_fn,
    get_worker_info,
)
from shim_torch.utils.data.datapipes.datapipe import IterDataPipe
from shim_torch.utils.data.dataset import IterableDataset
from shim_torch.utils.data.graph_settings import apply_shuffle_settings as _apply_shuffle_settings
from shim_torch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
_T = TypeVar("_T")
T_co = TypeVar("T_co", covariant=True)
_worker_init_fn_t = Callable[[int], None]
_collate_fn_t = Callable[[list[_T]], Any]
_FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class _InfiniteConstantSampler(Sampler[Any]):
    """Keys for data sets that need none."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(None)


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
        self.__multiprocessing_context = None if context is None else context_of(context)

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
        if not self.num_workers and self.timeout:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if self.num_workers and not self.prefetch_factor:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
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
