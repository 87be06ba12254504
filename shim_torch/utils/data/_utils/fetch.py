"""Fetching the items of a batch, and the iterators that ask for batches."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Callable
from typing import Any

from shim_torch._impl.utils.seeds import drawn_seed
from shim_torch.utils.data._utils import pin_memory as _pin
from shim_torch.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from shim_torch.utils.data.graph_settings import apply_sharding as _apply_sharding
from shim_torch.utils.data.graph_settings import process_group as _process_group
from shim_torch.utils.data.graph_settings import seeded as _seeded


class _BaseDatasetFetcher:
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        self.dataset, self.auto_collation, self.collate_fn, self.drop_last = (
            dataset,
            auto_collation,
            collate_fn,
            drop_last,
        )

    def fetch(self, keys: Any) -> Any:
        raise NotImplementedError


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def fetch(self, keys: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[keys])
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(keys))
        return self.collate_fn([self.dataset[k] for k in keys])


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, keys: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        wanted = len(keys)
        batch = list(itertools.islice(self.dataset_iter, wanted))
        self.ended = len(batch) < wanted
        if len(batch) < (wanted if self.drop_last else 1):
            raise StopIteration
        return self.collate_fn(batch)


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        cls = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


class _BaseDataLoaderIter:
    """What both iterators share. It does not hold the loader, which may hold it: both go when nobody else has them."""

    def __init__(self, loader: Any) -> None:
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

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
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
    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            _apply_sharding(self._dataset, self._world_size, self._rank)
        self._dataset_fetcher = self._fetcher_maker()(self._dataset)

    def _next_data(self) -> Any:
        batch = self._dataset_fetcher.fetch(self._next_index())
        return _pin.pin_memory(batch) if self._pin_memory else batch
