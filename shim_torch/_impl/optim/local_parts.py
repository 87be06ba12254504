"""What an optimizer of elements updates of tensors that are spread over processes: the parts that this one holds."""

from __future__ import annotations

from typing import Any


def local_parts(*lists: Any) -> tuple[Any, ...]:
    """The parts, where each list's tensor is spread as the first list's is; else the lists as they are (None among them is kept)."""
    first = lists[0]
    if not any(hasattr(t, "_spec") for t in first):
        return lists
    found: list[Any] = []
    for tensors in lists:
        if tensors is None:
            found.append(None)
            continue
        parts = []
        for like, t in zip(first, tensors, strict=True):
            ours, theirs = getattr(like, "_spec", None), getattr(t, "_spec", None)
            if ours is None and theirs is None:
                parts.append(t)
                continue
            if ours is None or theirs is None:
                return lists
            if (
                theirs.placements != ours.placements
                or theirs.mesh != ours.mesh
                or any(p.is_partial() for p in ours.placements)
            ):
                return lists
            parts.append(t._local_tensor)
        found.append(parts)
    return tuple(found)
