"""``torch.utils.data.datapipes.map``: pipes of items by key."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from shim_torch.utils.data.datapipes.datapipe import Batched, MapDataPipe, functional_datapipe, several

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Zipper"]


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


for _name in __all__:  # the names that repr shows, under which pickles find them
    _pipe = globals()[_name]
    _pipe.__qualname__ = _pipe.__name__ = f"{_name}MapDataPipe"
    globals()[_pipe.__name__] = _pipe


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.utils.data.datapipes.map", name)
