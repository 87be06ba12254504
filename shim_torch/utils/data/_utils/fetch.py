"""Fetching the items of one batch."""

from __future__ import annotations

import itertools
from typing import Any


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
