"""Decompositions of what sums over dimensions: matrix products and reductions."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.transforms.decompositions.formulas import _floating, _torch, formula


def _weighed(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        beta, alpha = int(beta), int(alpha)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (self if beta == 1 else self * beta)


@formula("addmm", wide=True)
def addmm(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat1 @ mat2``."""
    return _weighed(self, _torch().mm(mat1, mat2), beta, alpha)


@formula("addmv", wide=True)
def addmv(self: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat @ vec``."""
    return _weighed(self, _torch().mv(mat, vec), beta, alpha)


@formula("baddbmm", wide=True)
def baddbmm(self: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * batch1 @ batch2``, a matrix product for each of the batch."""
    return _weighed(self, _torch().bmm(batch1, batch2), beta, alpha)


@formula("mv", wide=True)
def mv(self: Any, vec: Any) -> Any:
    """Rows times the vector, summed."""
    return (self * vec).sum(1, dtype=self.dtype)


@formula("dot", wide=True)
def dot(self: Any, tensor: Any) -> Any:
    """Products of elements, summed."""
    return (self * tensor).sum(dtype=self.dtype)


@formula("sum")
def sum_all(self: Any, *, dtype: Any = None) -> Any:
    """The sum over all dims."""
    return _torch().ops.aten.sum.dim_IntList(self, [], dtype=dtype)


@formula("nansum")
def nansum(self: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum in which NaN counts as 0."""
    known = _torch().where(self.isnan(), 0, self)
    return _torch().ops.aten.sum.dim_IntList(known, dim, keepdim, dtype=dtype)


@formula("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(self: Any, dim: Any = None) -> Any:
    """How many elements are not 0; None or no dim: of all."""
    return (self != 0).sum(dim if dim is not None and dim != () else None)


@formula("all", "all.dim", "all.dims")
def all_true(self: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """No element is false; bytes stay bytes, as they do in PyTorch."""
    torch = _torch()
    none = self.logical_not()
    found = none.any() if dim is None and not keepdim else torch.any(none, dim, keepdim)
    return found.logical_not().to(torch.uint8 if self.dtype == torch.uint8 else torch.bool)


@formula("logsumexp", wide=True)
def logsumexp(self: Any, dim: Any, keepdim: bool = False) -> Any:
    """The logarithm of the sum of exponentials, taken relative to the largest element so that none overflows."""
    x = _floating(self)
    if not x.numel():
        return x.exp().sum(dim, keepdim).log()
    peak = (x.real if x.dtype.is_complex else x).amax(dim, True)
    peak = _torch().where(peak.abs() == math.inf, 0, peak)
    found = (x - peak).exp().sum(dim, keepdim).log()
    return found + (peak if keepdim else peak.sum(dim) if x.dim() else peak)


@formula("std.correction", wide=True)
def std(self: Any, dim: Any = None, *, correction: Any = None, keepdim: bool = False) -> Any:
    """The square root of the variance; correction None is 1."""
    return _torch().var(self, dim, correction=1 if correction is None else correction, keepdim=keepdim).sqrt()
