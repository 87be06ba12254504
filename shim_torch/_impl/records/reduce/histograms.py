"""Counts of values, and histograms of one and of several dims."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.rules import WIDE, same_dtype

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


def _float_only(self: Any) -> None:
    if self.dtype not in WIDE:
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{_core.scalar_name(self.dtype)}'")


def _edges(x: Any, bins: int, low: float | None, high: float | None, dim: int) -> Any:
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dim}")
    if low is None or high is None:
        low, high = (float(x.min()), float(x.max())) if x.numel() else (0.0, 1.0)
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite")
    if low == high:
        low, high = low - 0.5, high + 0.5
    return torch.linspace(low, high, bins + 1, dtype=x.dtype, device=x.device)


def _counted(columns: list[Any], edges: list[Any], weight: Any, density: bool) -> Any:
    sizes = [e.numel() - 1 for e in edges]
    flat: Any = None
    inside: Any = None
    for x, e, n in zip(columns, edges, sizes, strict=True):
        at = torch.searchsorted(e, x.contiguous(), right=True) - 1
        at = at.masked_fill(x == e[-1], n - 1)  # the last bin holds its upper edge
        good = (x >= e[0]) & (x <= e[-1])
        inside = good if inside is None else inside & good
        flat = at if flat is None else flat * n + at
    values = torch.ones_like(columns[0]) if weight is None else weight.reshape(-1).to(columns[0].dtype)
    chosen = inside.nonzero().squeeze(1)
    hist = columns[0].new_zeros((math.prod(sizes),)).index_add(0, flat[chosen], values[chosen]).reshape(sizes)
    if density:
        hist = hist / hist.sum()
        for d, e in enumerate(edges):
            hist = hist / e.diff().reshape([-1 if i == d else 1 for i in range(len(edges))])
    return hist


def _check_edges(edges: Any, dim: int) -> None:
    if edges.dim() != 1:
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have one dimension, but got {edges.dim()} dimensions in the bins tensor for "
            f"dimension {dim}"
        )
    if not edges.numel():
        raise RuntimeError(
            f"torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension {dim}"
        )


def _check_weight(self: Any, weight: Any, count: int) -> None:
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(
            f"torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input({_lower(self)}), and weight({_lower(weight)})"
        )
    if weight is not None and weight.numel() != count:
        shape = list(self.shape) if count != self.numel() else [count, 1]  # of one dim, all values are rows
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {shape} and weight with shape {list(weight.shape)}"
        )


@composite(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out=True,
    out_dtype="torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}",
    out_error_name="aten::histogram",
)
def histogram_edges(self, bins, weight, density):
    """Counts (or sums of weights, or densities) between the given edges."""
    _float_only(self)
    if bins.dtype != self.dtype:
        raise RuntimeError(
            f"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype {_lower(self)} "
            f"and bins for dimension 0 with dtype {_lower(bins)}"
        )
    _check_edges(bins, 0)
    _check_weight(self, weight, self.numel())
    return _counted([self.reshape(-1)], [bins], weight, density), bins.clone()


def _lower(t: Any) -> str:
    return {"float32": "float", "float64": "double", "int64": "long int"}.get(
        str(t.dtype).removeprefix("torch."), _core.scalar_name(t.dtype)
    )


@composite(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
    out=True,
    out_dtype="torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}",
    out_error_name="aten::histogram",
)
def histogram(self, bins, range, weight, density):
    """Counts in equal bins over ``range`` (the values' own by default), and their edges."""
    _float_only(self)
    if range is not None and len(range) != 2:
        raise RuntimeError(
            "torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got " + str(len(range))
        )
    _check_weight(self, weight, self.numel())
    flat = self.reshape(-1)
    low, high = range if range is not None else (None, None)
    edges = _edges(flat, bins, low, high, 0)
    return _counted([flat], [edges], weight, density), edges


def _histogramdd(self: Any, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    _float_only(self)
    if self.dim() < 2:
        raise RuntimeError(
            "torch.histogramdd: input tensor should have at least 2 dimensions, but got " + str(self.dim())
        )
    rows = self.flatten(0, -2)
    n = rows.size(1)
    bins = [bins] * n if isinstance(bins, int) else list(bins)
    if len(bins) != n:
        if any(isinstance(b, _core.TensorBase) for b in bins):
            raise RuntimeError(
                f"torch.histogramdd: expected {n} sequences of bin edges for a {n}-dimensional histogram but got {len(bins)}"
            )
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} elements, but got {len(range)}"
        )
    _check_weight(self, weight, rows.size(0))
    columns = list(rows.unbind(1))
    edges = []
    for d, (x, b) in enumerate(zip(columns, bins, strict=True)):
        if isinstance(b, _core.TensorBase):
            _check_edges(b, d)
            edges.append(b.detach())
        else:
            low, high = (None, None) if range is None else range[2 * d : 2 * d + 2]
            edges.append(_edges(x, b, low, high, d))
    if not n:  # PyTorch counts no row where there is nothing to count by
        return self.new_zeros(()), ()
    return _counted(columns, edges, weight, density), tuple(edges)


_DD = "float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)"
for _overload, _bins in (("", "int[] bins"), (".int_bins", "int bins"), (".TensorList_bins", "Tensor[] bins")):
    composite(f"histogramdd{_overload}(Tensor self, {_bins}, {_DD}", method=False)(_histogramdd)


def _bincount_dtype(self, weights):
    if weights is None:
        return None, _core.int64
    return None, (_core.float32 if weights.dtype == _core.float32 else _core.float64)


@op("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", native="bincount", dtype=_bincount_dtype,
    keep=("self", "weights"), dynamic_shape=True, gradient_name="torch::autograd::NotImplemented")  # fmt: skip
def bincount(xp, self, weights, minlength):
    """How often each of 0, 1, ... occurs, or the sum of the weights where it does.

    Shapes:  input (N,) and weights (N,) -> (n,), n the largest number plus 1, at least ``minlength``
    Dtypes:  integers that are not negative (RuntimeError) -> int64; with weights float32 (of float32) or float64
    """
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
    return _core.scalar_name(getattr(_core, str(array.dtype)))


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
    native="histc", out=True, values="bounds", refuses=(("b", "linspace_cpu"),), never_differentiable=True, out_dtype="torch.histogram: input tensor and hist tensor should have the same dtype, but got input {r} and hist {o}")  # fmt: skip
def histc(xp, self, bins, min, max):
    """How many elements are in each of ``bins`` intervals of equal width from ``min`` to ``max``; others do not count.

    Shapes:  any -> (bins,)
    Dtypes:  floating, and that of the result; without gradient
    Errors:  RuntimeError where a bound is not finite or ``max`` is below ``min``

    Where ``min`` equals ``max`` the bounds are the least and the largest element.
    """
    if self.dtype.kind != "f":
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{_kind(self)}'")
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = _bounds(xp, self, float(min), float(max))
    flat = self.reshape(-1)
    flat = flat[(flat >= low) & (flat <= high)]
    place = ((flat - low) * (bins / (high - low))).astype("int64")
    return xp.bincount(xp.minimum(place, bins - 1), minlength=bins).astype(self.dtype)
