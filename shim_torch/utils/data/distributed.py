"""``torch.utils.data.distributed``: each process its part of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from shim_torch.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th item, starting with ``rank``; ``set_epoch`` changes the shuffle."""

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        from shim_torch import distributed

        if num_replicas is None or rank is None:
            if not distributed.is_available():
                raise RuntimeError("Requires distributed package to be available")
            num_replicas = distributed.get_world_size() if num_replicas is None else num_replicas
            rank = distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.shuffle, self.seed = dataset, num_replicas, rank, shuffle, seed
        self.drop_last, self.epoch = drop_last, 0
        if drop_last and len(dataset) % num_replicas:
            self.num_samples = math.ceil((len(dataset) - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(len(dataset) / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        import shim_torch

        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            generator = shim_torch.Generator().manual_seed(self.seed + self.epoch)
            order = shim_torch.randperm(count, generator=generator).tolist()
        if self.drop_last:
            order = order[: self.total_size]
        else:
            order = (order * math.ceil(self.total_size / max(count, 1)))[: self.total_size]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Another epoch, another order."""
        self.epoch = epoch
