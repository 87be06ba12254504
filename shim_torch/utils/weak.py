"""``torch.utils.weak``: dictionaries and references by identity, for tensors whose ``==`` gives tensors."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any
from weakref import ref

__all__ = [
    "TensorWeakRef",
    "WeakIdKeyDictionary",
    "WeakIdRef",
    "WeakIdTensorKeyDictionary",
    "WeakTensorKeyDictionary",
    "WeakTensorRefKey",
]
WeakRef = ref


class WeakIdRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that hashes and compares by its object's identity."""

    __slots__ = ["_id"]

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        self._id = id(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __call__(self) -> Any:
        found: Any = super().__call__()
        if hasattr(found, "_fix_weakref"):
            found._fix_weakref()
        return found

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        if mine is not None and theirs is not None:
            return mine is theirs
        return self is other


class _WeakHashRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that has its object's hash, taken when it is made, and compares by hashes."""

    __slots__ = ["_id"]

    def __init__(self, key: Any, callback: Callable[[Any], Any] | None = None) -> None:
        self._id = hash(key)
        super().__init__(key, callback)  # type: ignore[call-arg]

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        if mine is not None and theirs is not None:
            return hash(mine) == hash(theirs)
        return self is other


def _forget(owner: Callable[[], WeakIdKeyDictionary | None], key: Any) -> None:
    """Takes a key that is gone out of its dictionary, which may be gone as well."""
    dictionary = owner()
    if dictionary is not None:
        dictionary.data.pop(key, None)


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary whose keys are held weakly and compared by identity."""

    def __init__(self, dict: Any = None, ref_type: type = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        self._remove = functools.partial(_forget, weakref.ref(self))
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    keys = __iter__  # type: ignore[assignment]

    def __len__(self) -> int:
        return sum(reference() is not None for reference in list(self.data))

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__} at {id(self):#x}>"

    def keyrefs(self) -> list[Any]:
        """The weak references that are the keys."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """A new dictionary of the same entries."""
        return type(self)(dict(self.items()), self.ref_type) if type(self) is WeakIdKeyDictionary else type(self)(self)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        from copy import deepcopy

        new = self.__class__()
        for key, value in self.items():
            new[key] = deepcopy(value, memo)
        return new

    def update(self, dict: Any = None, **kwargs: Any) -> None:  # type: ignore[override]
        """Adds the entries of a mapping or of pairs, and those given by name."""
        if dict is not None:
            pairs = dict if hasattr(dict, "items") else {}.__class__(dict)  # whole, before anything is written
            for key, value in pairs.items():
                self[key] = value
        for name, value in kwargs.items():
            self[name] = value

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        made = self.__class__()
        made.update(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self


WeakTensorKeyDictionary = WeakIdTensorKeyDictionary = WeakIdKeyDictionary
WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Any) -> None:
        from shim_torch._impl.native import _core

        if not isinstance(tensor, _core.TensorBase):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}")
        self.ref: weakref.ref[Any] = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()
