"""Medians, with NaN and without."""

from __future__ import annotations

from shim_torch._impl.native import _core
from shim_torch._impl.records.shared.extremes import full_extremum_grad, nonempty, picked, picked_grad
from shim_torch._impl.records.shared.formulas import speaks_for_itself
from shim_torch._impl.table.calls import shim, torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refuse, refusing_like
from shim_torch._impl.table.rules import wrap_dim

_NO_MEDIAN = ("bc", "median_cpu")


def _no_median(xp, dtype):
    """NaN, or what becomes of it in PyTorch's whole numbers."""
    if dtype.kind == "f":
        return float("nan")
    return xp.iinfo(dtype).min if dtype.itemsize >= 4 else 0


@op(
    "median(Tensor self) -> Tensor",
    shape=lambda self: (),
    dtype=refusing_like(_NO_MEDIAN),
    native="median",
    grad={"self": full_extremum_grad},
)
def median_all(xp, self):
    """The median: the lower of the two middle elements where their number is even, NaN where one is NaN.

    With ``dim`` the medians along it, and the index of each. Bool and complex dtypes are refused.
    """
    flat = self.reshape(-1)
    if not flat.size:
        return xp.asarray(_no_median(xp, flat.dtype), dtype=flat.dtype)
    if flat.dtype.kind == "f" and bool(xp.isnan(flat).any()):
        return xp.asarray(float("nan"), dtype=flat.dtype)
    return xp.sort(flat)[(flat.size - 1) // 2]


@op(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    out=True,
    shape=lambda self, dim, keepdim: [nonempty("median")(self, (dim,), keepdim)] * 2,
    dtype=refusing_like(("bc", "median_out"), _core.int64),
    native="median",
    grad={"self": picked_grad},
    nested="reduction",
    batching="along_dim",
)
def median_dim(xp, self, dim, keepdim):
    """The medians along ``dim``, and the index of each."""
    if self.ndim == 0:
        return self, xp.zeros((), "int64")
    order = xp.argsort(self, axis=dim, kind="stable")
    n = self.shape[dim]
    middle = xp.take(order, (n - 1) // 2, axis=dim)
    if self.dtype.kind == "f":
        nan = xp.isnan(self)
        middle = xp.where(nan.any(axis=dim), nan.argmax(axis=dim), middle)
    return picked(xp, self, middle.astype("int64"), wrap_dim(dim, self.ndim), keepdim)


_ONE_ROW = 1 << 21  # elements that one block of a CUDA kernel looks through sooner than they are sorted


@op(
    "shim::nanmedian_of_all(Tensor self) -> Tensor",
    shape=lambda self: (),
    dtype=refusing_like(_NO_MEDIAN),
    grad={"self": full_extremum_grad},
    function=False,
    method=False,
)
def nanmedian_of_all(xp, self):
    """The median of what is not NaN, for vmap and its like: one operator, of which no part has a size that depends on values."""
    kept = self[~xp.isnan(self)] if self.dtype.kind == "f" else self.reshape(-1)
    return median_all(xp, kept if kept.size else self)


@composite("nanmedian(Tensor self) -> Tensor", gradient_name=True)
def nanmedian(self):
    """The median of what is not NaN: the lower of the two middle elements where their number is even.

    NaN where nothing is left. With ``dim`` the medians along it, and the index of each.
    """
    if self.is_meta:
        return self.median()
    if (
        self.is_cuda and self.is_floating_point() and 0 < self.numel() <= _ONE_ROW
    ):  # without waiting for how many are left
        return shim.nanmedian(self.reshape(-1), 0, False)[0]
    if speaks_for_itself(self):
        return shim.nanmedian_of_all(self)
    kept = self.masked_select(~self.isnan())
    return kept.median() if kept.numel() else self.median()


@composite(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    gradient_name="NanmedianBackward1",
    out=True,
    batching="along_dim",
)
def nanmedian_dim(self, dim, keepdim):
    """The medians along ``dim`` of what is not NaN, and the index of each."""
    refuse(self.dtype, ("bc", "median_out"), meta=self.is_meta)
    if self.dim() == 0:
        return tuple(self.median(dim, keepdim))
    if self.is_cuda and self.is_floating_point() and 0 < self.size(dim) <= _ONE_ROW:
        return shim.nanmedian(self, dim, keepdim)
    values, indices = self.sort(stable=True, dim=dim)
    count = (~self.isnan()).sum(dim, True)
    middle = ((count - 1) // 2).clamp(min=0)
    values, indices = values.gather(dim, middle), indices.gather(dim, middle)
    if keepdim:
        return values, indices
    left = values.squeeze(dim).shape
    return torch._unsafe_view(values, left), torch._unsafe_view(indices, left)
