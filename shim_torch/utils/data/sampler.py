"""Samplers: in which order a loader asks a data set for its items."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from shim_torch._impl.utils.seeds import drawn_seed

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]
T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Yields keys of a data set."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ..."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


def _generator(given: Any) -> Any:
    """The sampler's own generator, or a new one seeded from the default generator."""
    import shim_torch

    return shim_torch.Generator().manual_seed(drawn_seed()) if given is None else given


def _require(met: bool, kind: str, error: type[Exception] = ValueError, **argument: Any) -> None:
    """Raises unless the argument is of its kind."""
    [(name, value)] = argument.items()
    if not met:
        raise error(f"{name} should be a {kind} value, but got {name}={value}")


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class RandomSampler(Sampler[int]):
    """All items in random order, or ``num_samples`` of them."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source, self.replacement, self._num_samples, self.generator = (
            data_source,
            replacement,
            num_samples,
            generator,
        )
        _require(isinstance(replacement, bool), "boolean", TypeError, replacement=replacement)
        count = self.num_samples
        _require(isinstance(count, int) and count > 0, "positive integer", num_samples=count)

    @property
    def num_samples(self) -> int:
        """How many indices are drawn: as set, else the dataset's length."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        import shim_torch

        n, generator = len(self.data_source), _generator(self.generator)
        rounds, rest = divmod(self.num_samples, 32 if self.replacement else n)
        for size in itertools.chain(itertools.repeat(32 if self.replacement else n, rounds), [rest]):
            if self.replacement:
                drawn = shim_torch.randint(n, (size,), generator=generator)
            else:
                drawn = shim_torch.randperm(n, generator=generator)[:size]
            yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given items in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        import shim_torch

        for i in shim_torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Items drawn with the given weights."""

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        import shim_torch

        _require(_is_size(num_samples), "positive integer", num_samples=num_samples)
        _require(isinstance(replacement, bool), "boolean", replacement=replacement)
        self.weights = shim_torch.as_tensor(weights, dtype=shim_torch.double)
        shape = tuple(self.weights.shape)
        if len(shape) != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        import shim_torch

        yield from shim_torch.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        ).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` keys of another sampler; the last may be shorter, or dropped."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _require(_is_size(batch_size), "positive integer", batch_size=batch_size)
        _require(isinstance(drop_last, bool), "boolean", drop_last=drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        keys = iter(self.sampler)
        while batch := list(itertools.islice(keys, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
