"""Sorting, and picking by rank."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import Refusal, refuse
from shim_torch._impl.table.rules import reduced, same_order, wrap_dim


def _ranked(*refused: Refusal) -> dict[str, Any]:
    """What all of them share: values and their places, for dtypes that have an order."""

    def dtype(self: Any) -> Any:
        refuse(self.dtype, *refused)
        return self.dtype, [self.dtype, _core.int64]

    return {"dtype": dtype, "differentiable": (0,)}


def _to_places(g: Any, shape: Any, index: Any, dim: int) -> Any:
    """The gradient of picked elements, at the places they were picked from."""
    return g.new_zeros(shape).scatter(dim, index, g) if len(shape) else g


def _order(xp: Any, x: Any, axis: int, descending: bool) -> Any:
    """Indices that sort stably, NaN counted as the largest."""
    if not descending:
        return xp.argsort(x, axis=axis, kind="stable")
    last = x.shape[axis] - 1
    return last - xp.flip(xp.argsort(xp.flip(x, axis), axis=axis, kind="stable"), axis)


def _sorted(xp: Any, self: Any, dim: int, descending: bool) -> tuple[Any, Any]:
    if self.ndim == 0:
        return self, xp.zeros((), "int64")
    axis = wrap_dim(dim, self.ndim)
    order = _order(xp, self, axis, descending)
    return xp.take_along_axis(self, order, axis), order.astype("int64")


def _sort_shape(self, dim):
    wrap_dim(dim, len(self.shape))
    return [self.shape, self.shape]


_NO_COMPLEX_SORT = ("c", " Sort does not support complex dtypes on CPU")


_SORT_GRAD = {"self": lambda g, self_shape, result1, dim: _to_places(g, self_shape, result1, dim)}


@op("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", foreseen="any", shape=_sort_shape, order=lambda self: same_order(self) * 2, out=True, native="sort",
    grad=_SORT_GRAD, **_ranked(_NO_COMPLEX_SORT), batching="along_dim_or_none", out_dtype="structured")  # fmt: skip
def sort(xp, self, dim, descending):
    """The values along ``dim`` in ascending or descending order and the places (int64) they had; NaN is the largest."""
    return _sorted(xp, self, dim, descending)


@op("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", foreseen="any",
    shape=_sort_shape, order=lambda self: same_order(self) * 2, out=True, native="sort", grad=_SORT_GRAD, **_ranked(_NO_COMPLEX_SORT), batching="along_dim_or_none", out_dtype="structured")  # fmt: skip
def sort_stable(xp, self, stable, dim, descending):
    """``sort`` that keeps the order of equal values."""
    return _sorted(xp, self, dim, descending)


@composite("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", batching="along_dim_or_none")
def argsort(self, dim, descending):
    """The places (int64) of the values along ``dim``, in the order of the values; NaN counts as the largest."""
    return self.sort(dim, descending)[1]


@composite(
    "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
    out=True,
    batching="along_dim_or_none",
)
def argsort_stable(self, stable, dim, descending):
    """``argsort`` that keeps the order of equal values."""
    return self.sort(stable=stable, dim=dim, descending=descending)[1]


@composite("msort(Tensor self) -> Tensor", out=True, out_dtype="structured", out_error_name="sort")
def msort(self):
    """The values along the first dim in ascending order; NaN counts as the largest."""
    return self.sort(0)[0]


def _topk_shape(self, k, dim):
    d, shape = wrap_dim(dim, len(self.shape)), list(self.shape)
    if not 0 <= k <= (shape[d] if shape else 1):
        raise RuntimeError("selected index k out of range")
    if shape:
        shape[d] = k
    elif k == 0:
        shape = [0]
    return [tuple(shape)] * 2


@op("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    shape=_topk_shape, out=True, native="topk", grad=_SORT_GRAD, **_ranked(("c", " topk does not support complex dtypes on CPU"), ("b", "topk does not support bool dtypes on CPU")), refuses=(("b", "topk does not support bool dtypes on CPU"),), batching="along_dim", out_dtype="structured")  # fmt: skip
def topk(xp, self, k, dim, largest, sorted):
    """The ``k`` largest, or smallest, values along ``dim`` and their places (int64); NaN counts as the largest."""
    if self.ndim == 0:
        empty = (xp.zeros((0,), self.dtype), xp.zeros((0,), "int64"))
        return (self, xp.zeros((), "int64")) if k else empty
    axis = wrap_dim(dim, self.ndim)
    first = tuple(slice(k) if i == axis else slice(None) for i in range(self.ndim))
    index = _order(xp, self, axis, largest)[first]
    return xp.take_along_axis(self, index, axis), index.astype("int64")


def _kth_shape(self, k, dim, keepdim):
    d, shape = wrap_dim(dim, len(self.shape)), list(self.shape)
    if shape and shape[d] == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {d} to have non-zero size.")
    if not 1 <= k <= (shape[d] if shape else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    if shape:
        shape[d : d + 1] = [1] if keepdim else []
    return [tuple(shape)] * 2


def _kept(g: Any, index: Any, dim: int, keepdim: bool) -> tuple[Any, Any]:
    return (g, index) if keepdim else (g.unsqueeze(dim), index.unsqueeze(dim))


def _kth_grad(g, self_shape, result1, dim, keepdim):
    if not len(self_shape):
        return g
    g, index = _kept(g, result1, dim, keepdim)
    return _to_places(g, self_shape, index, dim)


@op("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", shape=_kth_shape,
    out=True, native="kthvalue", grad={"self": _kth_grad}, **_ranked(("bc", "kthvalue_cpu")), batching="along_dim", out_dtype="output values must be of same type as input", overlap="refused")  # fmt: skip
def kthvalue(xp, self, k, dim, keepdim):
    """The ``k``-th smallest value along ``dim``, counted from 1, and its place (int64); NaN counts as the largest."""
    if self.ndim == 0:
        return self, xp.zeros((), "int64")
    axis = wrap_dim(dim, self.ndim)
    index = xp.expand_dims(xp.take(_order(xp, self, axis, False), k - 1, axis=axis), axis)
    values = xp.take_along_axis(self, index, axis)
    if not keepdim:
        values, index = xp.squeeze(values, axis), xp.squeeze(index, axis)
    return values, index.astype("int64")


@op("shim::nanmedian(Tensor self, int dim, bool keepdim) -> (Tensor values, Tensor indices)", shape=lambda self, dim, keepdim: [
        reduced(self, (dim,), keepdim)] * 2, native="nanmedian", grad={"self": _kth_grad}, function=False, method=False,
    **_ranked(("bc", "median_out")))  # fmt: skip
def nanmedian(xp, self, dim, keepdim):
    """The median of a row's numbers, or what is no number where it has none; the place that a stable sort gives it."""
    axis = wrap_dim(dim, self.ndim)
    order = _order(xp, self, axis, False)
    count = (~xp.isnan(self)).sum(axis=axis, keepdims=True)
    index = xp.take_along_axis(order, xp.maximum((count - 1) // 2, 0), axis)
    values = xp.take_along_axis(self, index, axis)
    if not keepdim:
        values, index = xp.squeeze(values, axis), xp.squeeze(index, axis)
    return values, index.astype("int64")


def _mode_shape(self, dim, keepdim):
    d, shape = wrap_dim(dim, len(self.shape)), list(self.shape)
    if shape and shape[d] == 0:
        raise IndexError(f"mode(): Expected reduction dim {d} to have non-zero size.")
    if shape:
        shape[d : d + 1] = [1] if keepdim else []
    return [tuple(shape)] * 2


@op("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", shape=_mode_shape, out=True,
    native="mode", grad={"self": _kth_grad}, **_ranked(("c", "mode_cpu")), batching="along_dim", out_dtype="expected scalar type '{R}' but got '{O}' for values output")  # fmt: skip
def mode(xp, self, dim, keepdim):
    """The most frequent value, the smallest where several are; its last place."""
    if self.ndim == 0:
        return self, xp.zeros((), "int64")
    axis = wrap_dim(dim, self.ndim)
    n = self.shape[axis]
    order = xp.moveaxis(_order(xp, self, axis, False), axis, -1)
    ranked = xp.take_along_axis(xp.moveaxis(self, axis, -1), order, -1)
    place = xp.arange(n)
    starts = xp.ones(ranked.shape, "bool")
    starts[..., 1:] = ranked[..., 1:] != ranked[..., :-1]
    length = place - xp.maximum.accumulate(xp.where(starts, place, 0), axis=-1)
    last = xp.expand_dims(length.argmax(axis=-1), -1)  # the first run to reach the greatest length ends here
    index = xp.moveaxis(xp.take_along_axis(order, last, -1), -1, axis)
    values = xp.take_along_axis(self, index, axis)
    if not keepdim:
        values, index = xp.squeeze(values, axis), xp.squeeze(index, axis)
    return values, index.astype("int64")
