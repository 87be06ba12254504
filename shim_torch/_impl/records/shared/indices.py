"""Indices as NumPy and CuPy take them, checked, for the families that read and write by index."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.rules import wrap_dim


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


def slice_sizes(t: Any, d: int) -> list[int]:
    """The sizes of a tensor's slices along a dim."""
    return [n for i, n in enumerate(t.shape) if i != d]


def same_slices(self: Any, d: int, source: Any) -> None:
    """RuntimeError where the slices of ``source`` along a dim are no slices of ``self``."""
    if slice_sizes(self, d) != slice_sizes(source, d) or len(self.shape) != len(source.shape):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )


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


def scattered_shape(self: Any, dim: int, index: Any, src: Any) -> Any:
    """The shape of ``self``, where the index fits it and the source."""
    d = wrap_dim(dim, self.dim())
    if not index.numel():
        return self.shape
    if index.dtype not in (_core.int64, _core.int32):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    for t, name in ((self, "self"), (src, "src")):
        if t is not None and max(index.dim(), 1) != max(t.dim(), 1):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")
    sizes, own = tuple(index.shape), tuple(self.shape) or (1,)
    wrong = any(i != d and n > own[i] for i, n in enumerate(sizes))
    if src is None:
        if wrong:
            raise RuntimeError(
                f"Expected index {list(sizes)} to be no larger than self {list(self.shape)} apart from dimension {d}"
            )
    elif wrong or any(n > m for n, m in zip(sizes, tuple(src.shape) or (1,), strict=False)):
        raise RuntimeError(
            f"Expected index {list(sizes)} to be no larger than self {list(self.shape)} apart from dimension {d} and to be no "
            f"larger size than src {list(src.shape)}"
        )
    return self.shape
