"""Containers of a batch: what collating, converting and pinning have in common."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from contextlib import suppress
from typing import Any


def is_container(data: Any) -> bool:
    """Whether ``data`` is a mapping or a sequence; text is neither."""
    return isinstance(data, (Mapping, Sequence)) and not isinstance(data, (str, bytes))


def contents(data: Any) -> Iterable[Any]:
    """The values of a mapping, the items of a sequence."""
    return data.values() if isinstance(data, Mapping) else data


def refilled(data: Any, values: list[Any], *, tuples: bool) -> Any:
    """A container like ``data`` with ``values`` in the places of its contents.

    What cannot be made like it becomes a dict or list; so does a tuple without names, unless ``tuples``.
    """
    keyed, named = isinstance(data, Mapping), hasattr(data, "_fields")
    plain: Any = dict(zip(data, values, strict=True)) if keyed else values
    if isinstance(data, tuple) and (named or not tuples):
        return type(data)(*values) if named else plain
    with suppress(TypeError):
        if not isinstance(data, (MutableMapping, MutableSequence)):
            return type(data)(plain)
        made = copy.copy(data)  # keeps what a subclass holds besides
        for place, value in plain.items() if keyed else enumerate(values):
            made[place] = value
        return made
    return plain
