"""``torch.utils._ordered_set``: a set that is gone through in the order of insertion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet, Reversible
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

T = TypeVar("T")
__all__ = ["OrderedSet"]


class OrderedSet(MutableSet[T], Reversible[T]):
    """As ``set``, in the order in which the elements were first added; equal to any set of the same elements."""

    __slots__ = ("_dict",)

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._dict: dict[T, None] = dict.fromkeys(iterable) if iterable is not None else {}

    def __contains__(self, elem: object) -> bool:
        return elem in self._dict

    def __iter__(self) -> Iterator[T]:
        return iter(self._dict)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)})"

    def add(self, elem: T) -> None:
        """Adds an element at the end; one that is there keeps its position."""
        self._dict[elem] = None

    def discard(self, elem: T) -> None:
        """Takes an element out, if it is there."""
        self._dict.pop(elem, None)

    def clear(self) -> None:
        """Takes all elements out."""
        self._dict.clear()

    def pop(self) -> T:
        """Takes out the first element. Errors: KeyError when there is none."""
        if not self._dict:
            raise KeyError("pop from an empty set")
        elem = next(iter(self._dict))
        del self._dict[elem]
        return elem

    def copy(self) -> OrderedSet[T]:
        """A new set of the same elements in the same order."""
        return type(self)(self)

    def update(self, *others: Iterable[T]) -> None:
        """Adds the elements of all ``others``."""
        for other in others:
            self._dict.update(dict.fromkeys(other))

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        """A new set: these elements, then those of ``others``."""
        made = self.copy()
        made.update(*others)
        return made

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        """A new set: the elements that all ``others`` have too."""
        kept = [frozenset(o) for o in others]
        return type(self)(e for e in self if all(e in k for k in kept))

    def intersection_update(self, *others: Iterable[T]) -> None:
        """Keeps the elements that all ``others`` have too."""
        self._dict = self.intersection(*others)._dict

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        """A new set: the elements that none of ``others`` has."""
        gone = [frozenset(o) for o in others]
        return type(self)(e for e in self if not any(e in g for g in gone))

    def difference_update(self, *others: Iterable[T]) -> None:
        """Takes out the elements that one of ``others`` has."""
        self._dict = self.difference(*others)._dict

    def symmetric_difference(self, other: Iterable[T]) -> OrderedSet[T]:
        """A new set: the elements of one of the two sets only."""
        theirs = dict.fromkeys(other)
        return type(self)([*(e for e in self if e not in theirs), *(e for e in theirs if e not in self)])

    def issubset(self, other: Iterable[Any]) -> bool:
        """Whether ``other`` has all elements."""
        return self <= frozenset(other)

    def issuperset(self, other: Iterable[Any]) -> bool:
        """Whether all elements of ``other`` are here."""
        return all(e in self for e in other)

    # The mixins of collections.abc give the operators the order of the right operand for ``&``; a set keeps its own.
    def __and__(self, other: AbstractSet[Any]) -> OrderedSet[T]:
        return self.intersection(other) if isinstance(other, AbstractSet) else NotImplemented
