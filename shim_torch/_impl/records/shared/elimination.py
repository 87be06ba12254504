"""Gaussian elimination and substitution over arrays, batches of matrices."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.records.shared.matrices import (
    cuda_linalg,
    on_cuda,
    swapped,
)

_PANEL = 32  # columns that are eliminated one by one before the rest of the matrix takes them as one product


def _panel(xp: Any, x: Any, pivots: Any, info: Any, start: int, stop: int, pivot: bool) -> Any:
    """Eliminates the columns [start, stop) among themselves; rows are exchanged whole."""
    each = xp.arange(x.shape[0])
    for j in range(start, stop):
        if pivot:
            column = x[:, j:, j]  # LAPACK measures complex numbers by |re| + |im|
            size = xp.abs(column.real) + xp.abs(column.imag) if column.dtype.kind == "c" else xp.abs(column)
            best = j + size.argmax(axis=1)
            pivots[:, j] = best + 1
            row = x[each, best].copy()
            x[each, best] = x[:, j]
            x[:, j] = row
        head = x[:, j, j]
        info = xp.where((head == 0) & (info == 0), j + 1, info)
        scale = xp.where(head == 0, xp.ones((), x.dtype), head)
        x[:, j + 1 :, j] /= scale[:, None]
        x[:, j + 1 :, j + 1 : stop] -= x[:, j + 1 :, j, None] * x[:, j, None, j + 1 : stop]
    return info


def _after_panel(x: Any, start: int, stop: int) -> None:
    """The columns right of a panel: its rows of U by forward substitution, the rest by one product."""
    for j in range(start, stop - 1):
        x[:, j + 1 : stop, stop:] -= x[:, j + 1 : stop, j, None] * x[:, j, None, stop:]
    if stop < x.shape[1]:
        x[:, stop:, stop:] -= x[:, stop:, start:stop] @ x[:, start:stop, stop:]


def lu(xp: Any, a: Any, pivot: bool = True) -> tuple[Any, Any, Any]:
    """Packed L and U, pivots from 1 (int32) and the first zero pivot (0: none) of a batch of matrices."""
    if pivot and on_cuda(a):
        return cuda_linalg().lu(a)
    *batch, m, n = a.shape
    k = min(m, n)
    count = 1
    for size in batch:
        count *= size
    x = a.reshape(count, m, n).copy()
    pivots = xp.broadcast_to(xp.arange(1, k + 1, dtype="int32"), (count, k)).copy()
    info = xp.zeros(count, "int32")
    for start in range(0, k if x.size else 0, _PANEL):
        stop = min(start + _PANEL, k)
        info = _panel(xp, x, pivots, info, start, stop, pivot)
        if stop < n:
            _after_panel(x, start, stop)
    return x.reshape(a.shape), pivots.reshape(*batch, k), info.reshape(tuple(batch)).astype("int32")


def substituted(xp: Any, A: Any, B: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    """X of A X = B (``left``) or X A = B for triangular A, row by row; zeros on the diagonal give infinities."""
    if on_cuda(B):
        return cuda_linalg().solve_triangular(A, B, upper, left, unitriangular)
    a, b = (A, B) if left else (swapped(xp, A), swapped(xp, B))
    upper = upper if left else not upper
    n = a.shape[-1]
    lead = xp.broadcast(xp.empty(a.shape[:-2]), xp.empty(b.shape[:-2])).shape
    x = xp.array(xp.broadcast_to(b, (*lead, *b.shape[-2:])))
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        row = x[..., i, :]
        if known.stop > known.start:
            row = row - xp.matmul(a[..., i : i + 1, known], x[..., known, :])[..., 0, :]
        x[..., i, :] = row if unitriangular else row / a[..., i, i][..., None]
    return x if left else swapped(xp, x)
