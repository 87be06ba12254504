"""Distinct values: unique and its like, and indices unravelled."""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import wrap_dim

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)

_UNIQUE = {
    "dtype": lambda self: (self.dtype, [self.dtype, _core.int64, _core.int64]),
    "method": False,
    "differentiable": (),
}


def _counted(xp: Any, flat: Any) -> tuple[Any, Any, Any]:
    """Sorted distinct values, their inverse and counts; every NaN is a value of its own."""
    order = xp.argsort(flat, kind="stable")
    ranked = flat[order]
    starts = _starts(xp, ranked)
    inverse = xp.empty(flat.shape, "int64")
    inverse[order] = xp.cumsum(starts) - 1
    return ranked[starts], inverse, _lengths(xp, starts)


def _starts(xp: Any, rows: Any) -> Any:
    """Where, along the first dim, a run of equal rows starts."""
    starts = xp.ones(rows.shape[:1], "bool")
    differs = rows[1:] != rows[:-1]
    starts[1:] = differs.any(axis=tuple(range(1, differs.ndim)))
    return starts


def _lengths(xp: Any, starts: Any) -> Any:
    at = xp.nonzero(starts)[0]
    return xp.diff(xp.concatenate([at, xp.asarray([starts.shape[0]], dtype=at.dtype)])).astype("int64")


def _asked(
    xp: Any, values: Any, inverse: Any, counts: Any, return_inverse: bool, return_counts: bool
) -> tuple[Any, Any, Any]:
    none = xp.zeros((0,), "int64")
    return values, inverse.astype("int64") if return_inverse else none, counts if return_counts else none


@op("_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)", native="unique", **_UNIQUE, dynamic_shape=True, refuses=(("c", "unique"),))  # fmt: skip
def _unique2(xp, self, sorted, return_inverse, return_counts):
    values, inverse, counts = _counted(xp, self.reshape(-1))
    return _asked(xp, values, inverse.reshape(self.shape), counts, return_inverse, return_counts)


@composite("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", method=False)
def _unique(self, sorted, return_inverse):
    return torch._unique2(self, sorted, return_inverse)[:2]


def _lexicographic(xp: Any, rows: Any) -> Any:
    """The order of rows by their first element, then by the second, and so on; rows that NaN leaves equal stay in place."""
    if rows.dtype.kind == "f" and bool((rows != rows).any()):
        return xp.asarray(_order_with_nan((rows.get() if hasattr(rows, "get") else rows).tolist()))
    order = xp.arange(rows.shape[0])
    for column in range(rows.shape[1] - 1, -1, -1):
        order = order[xp.argsort(rows[order, column], kind="stable")]
    return order


def _order_with_nan(rows: list[list[float]]) -> list[int]:
    """As PyTorch compares rows: an element that is neither smaller nor larger leaves it to the next one."""

    def compare(i: int, j: int) -> int:
        for a, b in zip(rows[i], rows[j], strict=True):
            if a < b or a > b:
                return -1 if a < b else 1
        return 0

    return sorted(range(len(rows)), key=cmp_to_key(compare))


def _rows(xp: Any, self: Any, dim: int) -> tuple[Any, Any]:
    """``self`` with ``dim`` first, and the same as a matrix of rows."""
    moved = xp.moveaxis(self, dim, 0)
    width = 1
    for n in moved.shape[1:]:
        width *= n
    return moved, moved.reshape(moved.shape[0], width)


def _check_empty(self: Any, dim: int) -> None:
    """Slices of no element are all equal: only where ``dim`` alone is empty is there an answer."""
    zeros = self.shape.count(0)
    if zeros == 0:
        return
    if self.shape[dim]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    if zeros > 1:
        raise RuntimeError("Number of zero sized dimensions is more than one, so unique cannot be applied ")


def _moved_order(self, dim):
    d = wrap_dim(dim, self.dim())
    return (d, *(i for i in range(self.dim()) if i != d)), None, None


@op("unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)", function=False, order=_moved_order, **_UNIQUE, dynamic_shape=True, refuses=(("c", "unique"),))  # fmt: skip
def unique_dim(xp, self, dim, sorted, return_inverse, return_counts):
    """The distinct slices along ``dim`` in lexicographic order, the place of each slice among them, and their counts.

    All three are always given.
    """
    d = wrap_dim(dim, self.ndim)
    _check_empty(self, d)
    moved, rows = _rows(xp, self, d)
    order = _lexicographic(xp, rows)
    starts = _starts(xp, rows[order])
    inverse = xp.empty(order.shape, "int64")
    inverse[order] = xp.cumsum(starts) - 1
    values = xp.moveaxis(moved[order[starts]], 0, d)
    # counts and inverse always come with a dim, as PyTorch's do
    return values, inverse, _lengths(xp, starts)


def _consecutive(xp: Any, self: Any, dim: Any, return_inverse: bool, return_counts: bool) -> tuple[Any, Any, Any]:
    if dim is None:
        flat = self.reshape(-1)
        starts = _starts(xp, flat)
        values, shape = flat[starts], self.shape
    else:
        d = wrap_dim(dim, self.ndim)
        _check_empty(self, d)
        moved, rows = _rows(xp, self, d)
        starts = _starts(xp, rows)
        values, shape = xp.moveaxis(moved[starts], 0, d), starts.shape
    inverse = (xp.cumsum(starts) - 1).reshape(shape)
    return _asked(xp, values, inverse, _lengths(xp, starts), return_inverse, return_counts)


@op("_unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)"
    " -> (Tensor, Tensor, Tensor)", module="_C", function=False, native="unique_consecutive", **_UNIQUE, dynamic_shape=True, refuses=(("c", "unique"),),
    gradient_name="UniqueConsecutiveBackward0", forward_error_name="unique_consecutive")  # fmt: skip
def _unique_consecutive(xp, self, return_inverse, return_counts, dim):
    return _consecutive(xp, self, dim, return_inverse, return_counts)


@op("unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)", function=False, order=_moved_order, **_UNIQUE, dynamic_shape=True, refuses=(("c", "unique"),))  # fmt: skip
def unique_dim_consecutive(xp, self, dim, return_inverse, return_counts):
    """The slices along ``dim`` that differ from the one before, the place of each slice among them, and their counts.

    The last two are empty where ``return_inverse`` and ``return_counts`` do not ask for them.
    """
    return _consecutive(xp, self, dim, return_inverse, return_counts)
