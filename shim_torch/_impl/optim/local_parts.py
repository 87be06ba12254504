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


def lists_of_parts(params: list[Any], state: Any, names: tuple[str, ...]) -> tuple[list[Any], ...] | None:
    """The lists of a step (``_core.step_lists``) of CUDA parameters that are spread over processes; None where there are none."""
    moving = [p for p in params if p.grad is not None]
    if not moving or not all(p.is_cuda and hasattr(p, "_spec") for p in moving):
        return None
    states = [state[p] for p in moving]
    if any(name not in own for own in states for name in names):
        return None  # they begin one by one
    columns = {name: [own[name] for own in states] for name in names}
    spread = [name for name in names if name != "step"]
    parts = local_parts(moving, [p.grad for p in moving], *(columns[name] for name in spread))
    if parts[0] is moving:
        return None
    columns.update(zip(spread, parts[2:], strict=True))
    return (parts[0], parts[1], *(columns[name] for name in names))
