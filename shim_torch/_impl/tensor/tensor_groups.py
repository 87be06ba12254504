"""Tensors grouped and ordered by type."""

from __future__ import annotations

from collections import Counter
from typing import Any


def _take_tensors(tensors: Any, size_limit: int) -> Any:
    """Groups of tensors of one dtype and device; a group ends before it would have more than ``size_limit`` bytes."""
    groups: dict[Any, tuple[list[Any], int]] = {}
    for tensor in tensors:
        kind, size = tensor.type(), tensor.numel() * tensor.element_size()
        group, total = groups.get(kind, ([], 0))
        if group and total + size > size_limit:
            yield group
            group, total = [], 0
        group.append(tensor)
        groups[kind] = group, total + size
    for group, _ in groups.values():
        if group:
            yield group


def _by_occurrence(tensors: Any) -> dict[tuple[str, int], Any]:
    """Each tensor under its type and how many of that type came before it."""
    seen: Counter[str] = Counter()
    found = {}
    for tensor in tensors:
        kind = tensor.type()
        found[kind, seen[kind]] = tensor
        seen[kind] += 1
    return found


def _reorder_tensors_as(tensors: Any, ordered_tensors: Any) -> tuple[Any, ...]:
    """``tensors`` (grouped by type) in the order of types that ``ordered_tensors`` has."""
    given = _by_occurrence(tensors)
    return tuple(given[place] for place in _by_occurrence(ordered_tensors))
