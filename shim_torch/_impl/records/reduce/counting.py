"""Distinct values, histograms and places in sorted sequences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.arguments import need_tensor
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import not_implemented, same_dtype, type_name, wrap_dim
from shim_torch._utils import _scalar

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
    " -> (Tensor, Tensor, Tensor)", native="unique", **_UNIQUE)  # fmt: skip
def _unique2(xp, self, sorted, return_inverse, return_counts):
    values, inverse, counts = _counted(xp, self.reshape(-1))
    return _asked(xp, values, inverse.reshape(self.shape), counts, return_inverse, return_counts)


@composite("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", method=False)
def _unique(self, sorted, return_inverse):
    import shim_torch

    return shim_torch._unique2(self, sorted, return_inverse)[:2]


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
    " -> (Tensor, Tensor, Tensor)", function=False, order=_moved_order, **_UNIQUE)  # fmt: skip
def unique_dim(xp, self, dim, sorted, return_inverse, return_counts):
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
    " -> (Tensor, Tensor, Tensor)", module="_C", function=False, native="unique_consecutive", **_UNIQUE)  # fmt: skip
def _unique_consecutive(xp, self, return_inverse, return_counts, dim):
    return _consecutive(xp, self, dim, return_inverse, return_counts)


@op("unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)", function=False, order=_moved_order, **_UNIQUE)  # fmt: skip
def unique_dim_consecutive(xp, self, dim, return_inverse, return_counts):
    return _consecutive(xp, self, dim, return_inverse, return_counts)


def _picked(results: Any, return_inverse: bool, return_counts: bool) -> Any:
    values, inverse, counts = results
    if not (return_inverse or return_counts):
        return values
    return (values, *([inverse] if return_inverse else []), *([counts] if return_counts else []))


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The distinct values (slices along ``dim``), sorted; with their places in ``input`` and their counts if asked for."""
    import shim_torch

    need_tensor(input, "_unique2" if dim is None else "unique_dim")
    if dim is None:
        found = shim_torch.ops.aten._unique2(input, sorted, return_inverse, return_counts)
    else:
        found = shim_torch.ops.aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _picked(found, return_inverse, return_counts)


def unique_consecutive(input: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    """The first of every run of equal values (slices along ``dim``)."""
    import shim_torch

    need_tensor(input, "unique_consecutive")
    found = shim_torch.ops.aten._unique_consecutive(input, return_inverse, return_counts, dim)
    return _picked(found, return_inverse, return_counts)


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Flat indices as one tensor of coordinates a dim of ``shape``."""
    import shim_torch

    if _core._has_torch_function_unary(indices):
        return _core._handle_torch_function(unravel_index, (indices,), indices, shape=shape)
    if not isinstance(indices, _core.TensorBase):
        raise TypeError(f"unravel_index() argument 'indices' (position 1) must be Tensor, not {type(indices).__name__}")
    if indices.dtype.is_floating_point or indices.dtype.is_complex or indices.dtype == _core.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (int, Sequence)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = [1]
    for n in sizes[:0:-1]:
        steps.insert(0, steps[0] * n)
    like = {"device": indices.device, "dtype": _core.int64}
    found = indices.to(_core.int64).unsqueeze(-1).floor_divide(shim_torch.tensor(steps[: len(sizes)], **like))
    return tuple((found % shim_torch.tensor(sizes, **like)).unbind(-1)) if sizes else ()


def functions() -> dict[str, Any]:
    """What torch takes from here."""
    return {"unique": unique, "unique_consecutive": unique_consecutive, "unravel_index": unravel_index}


def methods() -> dict[str, Any]:
    """What the tensor type takes from here."""
    return {"unique": unique, "unique_consecutive": unique_consecutive}


# --- counts ------------------------------------------------------------------------------------------------------------------


def _bincount_dtype(self, weights):
    if weights is None:
        return None, _core.int64
    return None, (_core.float32 if weights.dtype == _core.float32 else _core.float64)


@op("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", native="bincount", dtype=_bincount_dtype,
    keep=("self", "weights"))  # fmt: skip
def bincount(xp, self, weights, minlength):
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{_kind(self)}'")
    if self.ndim != 1 or (self.size and int(self.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and (weights.ndim != 1 or weights.shape != self.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if self.size == 0:
        return xp.zeros(
            (minlength,), "int64" if weights is None else weights.dtype if weights.dtype == "float32" else "float64"
        )
    places = self.astype("int64")
    if weights is None:
        return xp.bincount(places, minlength=minlength).astype("int64")
    return xp.bincount(places, weights.astype("float64"), minlength).astype(
        "float32" if weights.dtype == "float32" else "float64"
    )


def _kind(array: Any) -> str:
    return _scalar(getattr(_core, str(array.dtype)))


def _bounds(xp: Any, self: Any, low: float, high: float) -> tuple[float, float]:
    if low == high and self.size:
        low, high = float(self.min()), float(self.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low >= high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high


@op("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", shape=lambda bins: (bins,), dtype=same_dtype,
    native="histc", out=True, never_differentiable=True, out_dtype="torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}")  # fmt: skip
def histc(xp, self, bins, min, max):
    if self.dtype.kind != "f":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{_kind(self)}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _bounds(xp, self, float(min), float(max))
    flat = self.reshape(-1)
    flat = flat[(flat >= low) & (flat <= high)]
    place = ((flat - low) * (bins / (high - low))).astype("int64")
    return xp.bincount(xp.minimum(place, bins - 1), minlength=bins).astype(self.dtype)


# --- places in sorted sequences ------------------------------------------------------------------------------------------------


def _searched(xp: Any, sequence: Any, values: Any, right: bool) -> Any:
    side = "right" if right else "left"
    if sequence.ndim == 1:
        return xp.searchsorted(sequence, values, side=side)
    if not values.size:
        return xp.zeros(values.shape, "int64")
    rows, wanted = sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1])
    found = [xp.searchsorted(rows[i], wanted[i], side=side) for i in range(rows.shape[0])]
    return xp.stack(found).reshape(values.shape) if found else xp.zeros(values.shape, "int64")


def _place_dtype(out_int32: bool) -> Any:
    return _core.int32 if out_int32 else _core.int64


def _side(right: bool, side: Any) -> bool:
    if side is not None and side not in ("left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    return right or side == "right"


def _search_shape(sorted_sequence, self, sorter):
    s, v = tuple(sorted_sequence.shape), tuple(self.shape)
    if len(s) == 0:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    for what, t in (("input value", self), ("boundary", sorted_sequence)):
        if not t.is_contiguous():
            warn_once(
                f"torch.searchsorted(): {what} tensor is non-contiguous, this will lower the performance due to extra data copy when "
                f"converting non-contiguous tensor to contiguous, please use contiguous {what} tensor if possible. This message will "
                "only appear once per program."
            )
    if sorter is not None and sorter.dtype is not _core.int64:
        raise RuntimeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {type_name(sorter.dtype)}"
        )
    if len(s) != 1 and len(v) == 0:
        raise RuntimeError("torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we "
                           f"got boundaries tensor dim({len(s)}) and input value's dim({len(v)}) numel({self.numel()})")  # fmt: skip
    if len(s) != 1 and s[:-1] != v[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(s)} and input value tensor {list(v)}"
        )
    if sorter is not None and tuple(sorter.shape) != s:
        raise RuntimeError(
            f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {list(s)}and got sorter "
            f"tensor {list(sorter.shape)}"
        )
    return v


def _search_dtype(sorted_sequence, self, out_int32):
    dtype = _core.result_type(sorted_sequence, self)
    if dtype.is_complex:
        raise not_implemented("searchsorted_out_cpu", dtype)
    return dtype, _place_dtype(out_int32)


@op("searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None,"
    " Tensor? sorter=None) -> Tensor", method=False, out=True, keep=("sorter",), native="searchsorted", shape=_search_shape, dtype=_search_dtype, out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}")  # fmt: skip
def searchsorted(xp, sorted_sequence, self, out_int32, right, side, sorter):
    if sorter is not None:
        if sorter.size and (int(sorter.min()) < 0 or int(sorter.max()) >= sorted_sequence.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, -1)
    found = _searched(xp, sorted_sequence, self, _side(right, side))
    return xp.asarray(found).astype("int32" if out_int32 else "int64")


@composite("searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None,"
           " Tensor? sorter=None) -> Tensor", method=False, out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}")  # fmt: skip
def searchsorted_scalar(sorted_sequence, self, out_int32, right, side, sorter):
    import shim_torch

    value = shim_torch.scalar_tensor(self, dtype=sorted_sequence.dtype, device=sorted_sequence.device)
    return shim_torch.searchsorted(sorted_sequence, value, out_int32=out_int32, right=right, side=side, sorter=sorter)


def _bucket_check(boundaries: Any) -> None:
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")


@composite("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
           method=False, out=True, native="bucketize", out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}")  # fmt: skip
def bucketize(self, boundaries, out_int32, right):
    import shim_torch

    _bucket_check(boundaries)
    return shim_torch.searchsorted(boundaries, self, out_int32=out_int32, right=right)


@composite("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
           method=False, out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}")  # fmt: skip
def bucketize_scalar(self, boundaries, out_int32, right):
    import shim_torch

    _bucket_check(boundaries)
    return shim_torch.searchsorted(boundaries, self, out_int32=out_int32, right=right)


for _function in (unique, unique_consecutive, unravel_index):
    _function.__module__ = "torch.functional"
