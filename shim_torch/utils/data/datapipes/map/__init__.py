"""``torch.utils.data.datapipes.map``: pipes of items by key."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch._impl.utils.seeds import drawn_seed
from shim_torch.utils.data.datapipes.datapipe import Batched, IterDataPipe, MapDataPipe, functional_datapipe, several

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapper(MapDataPipe[Any]):
    """The items of a sequence or dict, which is copied unless told otherwise."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe[Any]):
    """``fn`` of each item."""

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any]) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class Batcher(Batched, MapDataPipe[Any]):
    """Batches of ``batch_size`` items; the last may be smaller, or is left out."""

    def __getitem__(self, index: int) -> Any:
        n = len(self.datapipe)
        start = index * self.batch_size
        stop = min(start + self.batch_size, n)
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        return self.wrapper_class([self.datapipe[i] for i in range(start, stop)])

    def __len__(self) -> int:
        return self.batches_of(len(self.datapipe))


@functional_datapipe("concat")
class Concater(MapDataPipe[Any]):
    """The items of several pipes, one pipe after another, by number."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = several(datapipes, MapDataPipe)

    def __getitem__(self, index: int) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(d) for d in self.datapipes)


@functional_datapipe("zip")
class Zipper(Concater):
    """Tuples of the items of each pipe, as many as the shortest has."""

    def __getitem__(self, index: Any) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return min(len(d) for d in self.datapipes)


class Shuffler(IterDataPipe[Any]):
    """The items in a random order, as a pipe of items one after another; of ``indices`` where they are given."""

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled, self._seed = True, None
        self._rng = random.Random()
        self._shuffled_indices = self.indices

    def set_shuffle(self, shuffle: bool = True) -> Shuffler:
        """Switches shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Shuffler:
        """The seed of the next pass; of later ones it is drawn from ``torch``'s generator, as without one."""
        self._seed = seed  # type: ignore[assignment]
        return self

    def reset(self) -> None:
        """Draws a new order of the indices, from the set seed or a random one."""
        seed, self._seed = self._seed, None
        self._rng.seed(drawn_seed() if self._enabled and seed is None else seed)
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from (self.datapipe[i] for i in self.indices)
            return
        while self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)

for _name in __all__:  # the names that repr shows, under which pickles find them
    _pipe = globals()[_name]
    _pipe.__qualname__ = _pipe.__name__ = f"{_name}{'Iter' if _name == 'Shuffler' else 'Map'}DataPipe"
    globals()[_pipe.__name__] = _pipe
