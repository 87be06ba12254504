"""``torch.utils.data.datapipes.iter``: pipes of items one after another."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

from shim_torch._impl.utils.seeds import drawn_seed
from shim_torch.utils.data.datapipes.datapipe import Batched, IterDataPipe, functional_datapipe, several

__all__ = [
    "Batcher", "Collator", "Concater", "Filter", "IterableWrapper", "Mapper", "Multiplexer", "Sampler",
    "ShardingFilter", "Shuffler", "UnBatcher", "Zipper",
]  # fmt: skip


def _length(pipe: Any, of: Any) -> int:
    if isinstance(of, Sized):
        return len(of)
    raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")


class IterableWrapper(IterDataPipe[Any]):
    """The items of an iterable, which is copied for each iterator where it can be."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:  # a generator, say: its items are used up
                pass
        yield from source

    def __len__(self) -> int:
        return _length(self, self.iterable)


def _called(fn: Callable[..., Any], item: Any, input_col: Any) -> Any:
    if input_col is None:
        return fn(item)
    if isinstance(input_col, (list, tuple)):
        return fn(*(item[c] for c in input_col))
    return fn(item[input_col])


@functional_datapipe("map")
class Mapper(IterDataPipe[Any]):
    """``fn`` of each item, or of its columns ``input_col``; the result goes into ``output_col`` (-1: a new one)."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _apply(self, item: Any) -> Any:
        made = _called(self.fn, item, self.input_col)
        if self.input_col is None:
            return made
        as_tuple = isinstance(item, tuple)
        new = list(item) if as_tuple else copy.copy(item)
        if self.output_col == -1:
            new.append(made)
        elif self.output_col is not None:
            new[self.output_col] = made
        elif isinstance(self.input_col, (list, tuple)):
            new[self.input_col[0]] = made
            for column in sorted(self.input_col[1:], reverse=True):
                del new[column]
        else:
            new[self.input_col] = made
        return tuple(new) if as_tuple else new

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            yield self._apply(item)

    def __len__(self) -> int:
        return _length(self, self.datapipe)


@functional_datapipe("collate")
class Collator(Mapper):
    """Batches made tensors, by ``default_collate`` unless given."""

    def __init__(self, datapipe: Any, collate_fn: Callable[..., Any] | None = None) -> None:
        from shim_torch.utils.data._utils.collate import default_collate

        super().__init__(datapipe, fn=collate_fn or default_collate)


@functional_datapipe("filter")
class Filter(IterDataPipe[Any]):
    """The items, or those whose columns, ``filter_fn`` says True of."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            keep = _called(self.filter_fn, item, self.input_col)
            if not isinstance(keep, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(keep))
            if keep:
                yield item


@functional_datapipe("batch")
class Batcher(Batched, IterDataPipe[Any]):
    """Batches of ``batch_size`` items; the last may be smaller, or is left out."""

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        return self.batches_of(_length(self, self.datapipe))


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe[Any]):
    """The items of batches, ``unbatch_level`` levels of them (-1: all)."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        if unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            yield from self._dive(item, self.unbatch_level)

    def _dive(self, item: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level == -1 and not isinstance(item, list)):
            yield item
            return
        if not isinstance(item, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for part in item:
            yield from self._dive(part, level if level == -1 else level - 1)


@functional_datapipe("concat")
class Concater(IterDataPipe[Any]):
    """The items of several pipes, one pipe after another."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = several(datapipes, IterDataPipe)

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(_length(self, d) for d in self.datapipes)


@functional_datapipe("zip")
class Zipper(Concater):
    """Tuples of one item of each pipe, as many as the shortest has."""

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(_length(self, d) for d in self.datapipes)


@functional_datapipe("mux")
class Multiplexer(Concater):
    """One item of each pipe in turn, until the shortest is used up."""

    def __iter__(self) -> Iterator[Any]:
        for items in zip(*self.datapipes, strict=False):
            yield from items

    def __len__(self) -> int:
        return min(_length(self, d) for d in self.datapipes) * len(self.datapipes)


class Sampler(IterDataPipe[Any]):
    """The items in the order of a sampler of their places."""

    def __init__(
        self, datapipe: Any, sampler: Any = None, sampler_args: Any = None, sampler_kwargs: Any = None
    ) -> None:
        from shim_torch.utils.data.sampler import SequentialSampler

        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler = (sampler or SequentialSampler)(
            *(sampler_args or ()), **{"data_source": datapipe, **(sampler_kwargs or {})}
        )

    def __iter__(self) -> Iterator[Any]:
        yield from self.sampler

    def __len__(self) -> int:
        return _length(self, self.sampler)


@functional_datapipe("shuffle")
class Shuffler(IterDataPipe[Any]):
    """The items in random order: each is drawn from the next ``buffer_size`` that are left."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else UnBatcher(datapipe, unbatch_level)
        self.buffer_size = buffer_size
        self._enabled, self._seed = True, None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        """Switches shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        """The seed of the next pass; of later ones it is drawn from ``torch``'s generator, as without one."""
        self._seed = seed  # type: ignore[assignment]
        return self

    def reset(self) -> None:
        """Seeds the next pass, with the seed that was set or with a drawn one."""
        if self._enabled:
            seed, self._seed = self._seed, None
            self._rng.seed(drawn_seed() if seed is None else seed)

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        waiting: list[Any] = []
        for item in self.datapipe:
            if len(waiting) < self.buffer_size:
                waiting.append(item)
                continue
            at = self._rng.randint(0, self.buffer_size - 1)
            chosen, waiting[at] = waiting[at], item
            yield chosen
        while waiting:
            yield waiting.pop(self._rng.randint(0, len(waiting) - 1))

    def __len__(self) -> int:
        return _length(self, self.datapipe)


@functional_datapipe("sharding_filter")
class ShardingFilter(IterDataPipe[Any]):
    """Every n-th item, from the m-th on: the part of one worker, once ``apply_sharding`` has said which."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Errors: ValueError where ``instance_id`` is not below the number of parts."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        for i, item in enumerate(self.source_datapipe):
            if i % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self) -> int:
        n = _length(self, self.source_datapipe)
        return n // self.num_of_instances + (self.instance_id < n % self.num_of_instances)


for _name in __all__:  # the names that repr shows, under which pickles find them
    _pipe = globals()[_name]
    _pipe.__qualname__ = _pipe.__name__ = f"{_name}IterDataPipe"
    globals()[_pipe.__name__] = _pipe
