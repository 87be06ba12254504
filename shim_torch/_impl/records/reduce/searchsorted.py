"""Places in sorted sequences: searchsorted and bucketize."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.surface.warnings import warn_once
from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite, op
from shim_torch._impl.table.refusals import refuse
from shim_torch._impl.table.rules import type_name

VALUES = "checked"  # a call may fail for what its tensors hold (compile/deferral.py)


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
    if self.numel():
        refuse(dtype, ("bc", "searchsorted_out_cpu"), meta=self.is_meta)
    return dtype, _place_dtype(out_int32)


@op("searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None,"
    " Tensor? sorter=None) -> Tensor", method=False, out=True, never_differentiable=True, keep=("sorter",), native="searchsorted", shape=_search_shape, dtype=_search_dtype, out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}")  # fmt: skip
def searchsorted(xp, sorted_sequence, self, out_int32, right, side, sorter):
    """The index at which each value keeps a sorted sequence sorted: before equal elements, or after them.

    Shapes:  sequence (n,) with any values; or (*, n) with values (*, m), row by row -> the values' shape
    Dtypes:  int64, or int32 with ``out_int32``; compared in the promoted dtype, complex refused
    Errors:  RuntimeError where shapes differ, a ``sorter`` is out of range, or ``side`` is "left" and ``right`` True

    ``right=True`` or ``side="right"``: after equal elements. ``sorter`` (int64): the order that sorts the sequence.
    """
    if sorter is not None:
        if sorter.size and (int(sorter.min()) < 0 or int(sorter.max()) >= sorted_sequence.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        sorted_sequence = xp.take_along_axis(sorted_sequence, sorter, -1)
    found = _searched(xp, sorted_sequence, self, _side(right, side))
    return xp.asarray(found).astype("int32" if out_int32 else "int64")


@composite("searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None,"
           " Tensor? sorter=None) -> Tensor", method=False, out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}")  # fmt: skip
def searchsorted_scalar(sorted_sequence, self, out_int32, right, side, sorter):
    """The index at which one number keeps a sorted sequence sorted."""
    value = torch.scalar_tensor(self, dtype=sorted_sequence.dtype, device=sorted_sequence.device)
    return torch.searchsorted(sorted_sequence, value, out_int32=out_int32, right=right, side=side, sorter=sorter)


def _bucket_check(boundaries: Any) -> None:
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")


@composite("bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
           method=False, out=True, never_differentiable=True, native="bucketize", out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}")  # fmt: skip
def bucketize(self, boundaries, out_int32, right):
    """The index of the interval between sorted ``boundaries`` that each element falls into.

    Shapes:  boundaries (n,); any input -> its shape
    Dtypes:  int64, or int32 with ``out_int32``; bool and complex are refused

    ``right``: an element equal to a boundary belongs to the interval after it, otherwise to that before.
    """
    _bucket_check(boundaries)
    return torch.searchsorted(boundaries, self, out_int32=out_int32, right=right)


@composite("bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
           method=False, out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag is True, but we got output tensor's dtype {O} and out_int32 flag is {32}")  # fmt: skip
def bucketize_scalar(self, boundaries, out_int32, right):
    """The index of the interval that one number falls into."""
    _bucket_check(boundaries)
    return torch.searchsorted(boundaries, self, out_int32=out_int32, right=right)
