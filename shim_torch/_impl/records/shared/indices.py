"""Indices as NumPy and CuPy take them, checked, for the families that read and write by index."""

from __future__ import annotations

from typing import Any


def add_at(xp, out, key, values):
    """Adds ``values`` to ``out[key]`` in place, once for each time that an element is named; bools are or'ed."""
    if out.dtype.kind == "b":
        xp.logical_or.at(out, key, values)
    elif xp.__name__ == "numpy" and out.dtype.kind in "iufc":
        xp.add.at(out, key, values)
    else:
        xp.add.at(out, key, xp.broadcast_to(values, out[key].shape))


def check_bounds(xp, index, n, dim, what):
    """RuntimeError where an index on the host is not in [0, n); a GPU's are not checked, which would wait for them."""
    if xp.__name__ == "numpy" and index.size:
        if int(index.min()) < 0 or int(index.max()) >= n:
            first = int(index[(index < 0) | (index >= n)][0])
            raise RuntimeError(f"index {first} is out of bounds for dimension {dim} with size {n}")


def key_along(dim: int, index: Any) -> tuple[Any, ...]:
    """The key that takes ``index`` along ``dim`` and all of the dims before it."""
    return (slice(None),) * dim + (index,)


def full_key(xp: Any, axis: int, index: Any) -> tuple[Any, ...]:
    """Full index arrays that put ``index`` at ``axis`` and count up in the other dims."""
    axes = [xp.arange(n).reshape([-1 if j == i else 1 for j in range(index.ndim)]) for i, n in enumerate(index.shape)]
    axes[axis] = index
    return tuple(axes)


def in_bounds(index: Any, size: int, what: str) -> Any:
    """The index, all of it in bounds; ``what`` may name the first bad one as {bad}."""
    bad = (index < 0) | (index >= size)
    if bool(bad.any()):
        raise IndexError(what.format(bad=int(index[bad].reshape(-1)[0])))
    return index


def copied(self: Any) -> Any:
    """A copy that can be written to by index: of an array without dims one of shape (1,)."""
    return self.copy() if self.ndim else self.reshape(1).copy()
