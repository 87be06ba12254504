"""Sums, norms and softmax of sparse tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.sparse.dispatch import composite, kernel, refuse
from shim_torch._impl.table.calls import aten, torch


def _dims(dim: Any, n: int) -> list[int]:
    from shim_torch._impl.sparse.shapes import _dim

    given = [dim] if isinstance(dim, int) else list(dim)
    found = [_dim(d, n) for d in given]
    if len(set(found)) != len(found):
        raise RuntimeError(
            f"dim {next(d for d in found if found.count(d) > 1)} appears multiple times in the list of dims"
        )
    return found


def _sum_dtype(t: Any, dtype: Any) -> Any:
    if dtype is not None:
        return dtype
    return _core.int64 if not (t.dtype.is_floating_point or t.dtype.is_complex) else t.dtype


@composite("sum", "sum.dim_IntList")
def sum_(self: Any, *rest: Any) -> Any:
    """The sum of all entries, or over dims."""
    if len(rest) == 1:
        return aten._sparse_sum_all(self, rest[0])
    dim, keepdim, dtype = rest
    if self.layout != _core.sparse_coo:
        if not keepdim and (dim is None or (not isinstance(dim, int) and not len(dim))):
            return aten._sparse_sum_all(self, dtype)
        return aten._sparse_sum_kept(self, dim, keepdim, dtype)
    dims = (
        list(range(self.dim()))
        if dim is None or (not isinstance(dim, int) and not len(dim))
        else _dims(dim, self.dim())
    )
    if len(dims) == self.dim():
        whole = aten._sparse_sum_all(self, dtype)
        return whole.reshape([1] * self.dim()).to_sparse() if keepdim and self.dim() else whole
    made = aten._sparse_sum_dims(self, dims, dtype, True)
    for d in sorted(dims) if keepdim else ():
        made = made.unsqueeze(d)
    return made if made.layout != _core.strided or not keepdim else made.to_sparse()


def sum_all(self: Any, dtype: Any) -> Any:
    """The sum of all entries, dense."""
    return coo.parts(self).values.sum(dtype=_sum_dtype(self, dtype))


def sum_dims(self: Any, dims: Sequence[int], dtype: Any) -> Any:
    """Sums over some dims: sparse while a sparse dim is left, else dense."""
    p = coo.parts(self)
    n = p.sparse_dim
    values = p.values
    dense = [d - n + 1 for d in dims if d >= n]
    wanted = _sum_dtype(self, dtype)
    if dense:
        values = values.sum(dense, dtype=wanted)
    elif values.dtype != wanted:
        values = values.to(wanted)
    gone = [d for d in dims if d < n]
    if len(gone) == n:
        return values.sum(0)
    size = [k for d, k in enumerate(self.shape) if d not in dims]
    if not gone:
        return _core.sparse_tensor(_core.sparse_coo, size, p.indices, None, values, n, len(size) - n, p.coalesced)
    left = [d for d in range(n) if d not in gone]
    made = coo.make(p.indices[left], values, size, False)
    return coo.coalesce(made)


def sum_backward(g: Any, self: Any, dims: Any, everywhere: bool = False) -> Any:
    """The gradient of a sum: at the entries of ``self``, or at every place where it comes from a dense one."""
    if everywhere and g.layout == _core.strided:
        for d in sorted(dims):
            g = g.unsqueeze(d)
        return g.expand(self.shape)
    p = coo.parts(self if coo.parts(self).coalesced else coo.coalesce(self))
    if dims is None or len(dims) == self.dim():
        whole = g.to_dense().reshape([1] * self.dim()).expand(self.shape)
    else:
        whole = g.to_dense()
        for d in sorted(dims):
            whole = whole.unsqueeze(d)
        whole = whole.expand(self.shape)
    picked = whole[tuple(p.indices)] if p.sparse_dim else whole.unsqueeze(0)
    return coo.unsafe(p.indices, picked.to(self.dtype), self.shape, coalesced=p.coalesced)


# --- norms -----------------------------------------------------------------------------------------------------------------


def norm_of(t: Any, p: Any = 2) -> Any:
    """The norm of all entries."""
    parts = coo.parts(t)
    if parts.layout != _core.sparse_coo:
        refuse("aten::norm.out", [t])
    values = coo.parts(coo.coalesce(t)).values
    return values.reshape(-1).norm(2 if p is None else p)


def norm(input: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """``torch.norm`` of a sparse tensor: over all entries."""
    if p == "fro" and dtype is not None:
        raise ValueError("dtype argument is not supported in frobenius norm")
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm_sparse currently does not support the {p} norm")
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    p = 2 if p in ("fro", None) else p
    if dim is None:
        return aten.norm.Scalar(input, p)
    return aten.norm.ScalarOpt_dim(input, p, dim, keepdim)


@composite("norm.Scalar")
def norm_scalar(self: Any, p: Any = 2) -> Any:
    """The ``p``-norm of a COO tensor's values; other layouts are refused."""
    if self.layout != _core.sparse_coo:
        refuse("aten::norm.out", [self])
    return self.coalesce().values().reshape(-1).norm(p)


@kernel("norm.ScalarOpt_dim", "norm.ScalarOpt_dim_dtype", "norm.ScalarOpt_dtype")
def norm_dim(self: Any, p: Any, *rest: Any) -> Any:
    """The ``p``-norm over all dims; RuntimeError where only some are named."""
    dtype = rest[-1] if isinstance(rest[-1], _core.dtype) else None
    dim = rest[0] if len(rest) > 1 else ()
    dims = _dims(dim, self.dim()) if dim is not None else []
    if dims and len(dims) != self.dim():
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the "
            "input"
        )
    made = norm_of(self if dtype is None else self.to(dtype), p)
    keepdim = len(rest) > 1 and rest[1] is True
    return made.reshape([1] * self.dim()) if keepdim else made


@kernel("native_norm")
def native_norm(self: Any, p: Any = 2) -> Any:
    """The ``p``-norm of the values."""
    return norm_of(self, p)


# --- softmax ---------------------------------------------------------------------------------------------------------------


def _groups(p: Any, size: Any, dim: int) -> tuple[Any, int]:
    """The entries numbered by their indices in all sparse dims but ``dim``."""
    from shim_torch._impl.tensor.distinct import unique

    left = [d for d in range(p.sparse_dim) if d != dim]
    if not left:
        return torch.zeros(p.indices.shape[1], dtype=_core.int64, device=p.indices.device), 1
    place = coo.flat(p.indices[left], [size[d] for d in left])
    found, group = unique(place, return_inverse=True)
    return group, found.shape[0]


def softmax(self: Any, dim: int, log: bool) -> Any:
    """Softmax along a dim over the entries that are there; the others are minus infinity."""
    if self.dim() == 0 and dim not in (0, -1):
        raise IndexError(f"Dimension out of range (expected to be in range of [-1, 0], but got {dim})")
    d = _dims(dim, self.dim())[0] if self.dim() else 0
    self = self if coo.parts(self).coalesced else coo.coalesce(self)
    p = coo.parts(self)
    if d >= p.sparse_dim:
        at = d - p.sparse_dim + 1
        return coo.with_values(self, p.values.log_softmax(at) if log else p.values.softmax(at))
    if not p.values.numel():
        return coo.with_values(self, p.values.clone())
    group, count = _groups(p, self.shape, d)
    flat = p.values.reshape(p.values.shape[0], -1)
    spread = group.unsqueeze(1).expand(flat.shape)
    top = torch.full((count, flat.shape[1]), -math.inf, dtype=flat.dtype, device=flat.device)
    top = top.scatter_reduce(0, spread, flat, "amax")
    top = torch.where(top == -math.inf, torch.zeros_like(top), top)
    moved = flat - top.index_select(0, group)
    total = torch.zeros_like(top).index_add_(0, group, moved.exp())
    made = moved - total.log().index_select(0, group) if log else moved.exp() / total.index_select(0, group)
    return coo.with_values(self, made.reshape(p.values.shape))


def softmax_backward(g: Any, output: Any, dim: int, log: bool) -> Any:
    """The gradient of a softmax whose result is ``output``: of its pattern."""
    d = _dims(dim, output.dim())[0] if output.dim() else 0
    p = coo.parts(output)
    grad = coo.parts(g.sparse_mask(output)).values
    if d >= p.sparse_dim:
        at = d - p.sparse_dim + 1
        kind = aten
        back = kind._log_softmax_backward_data if log else kind._softmax_backward_data
        return coo.with_values(output, back(grad, p.values, at, p.values.dtype))
    if not p.values.numel():
        return coo.with_values(output, p.values.clone())
    group, count = _groups(p, output.shape, d)
    weighed = grad if log else grad * p.values
    rows = weighed.reshape(weighed.shape[0], -1)
    total = torch.zeros((count, rows.shape[1]), dtype=rows.dtype, device=rows.device).index_add_(0, group, rows)
    spread = total.index_select(0, group).reshape(grad.shape)
    made = grad - p.values.exp() * spread if log else p.values * (grad - spread)
    return coo.with_values(output, made)


def sum_at_entries(t: Any, dim: Any, dtype: Any) -> Any:
    """``torch.sparse.sum`` over some dims: the gradient has the entries of ``t``."""
    if t.layout != _core.sparse_coo:
        return t.sum(dim, dtype=dtype)
    return aten._sparse_sum_dims(t, _dims(dim, t.dim()), dtype)
