"""Sums, differences and products with sparse operands."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.sparse.coo import flat, parts, sum_rows
from shim_torch._impl.sparse.dispatch import kernel
from shim_torch._impl.table.calls import torch

Tensor = _core.TensorBase


def is_sparse(x: Any) -> bool:
    """Whether it is a tensor of a sparse layout."""
    return isinstance(x, Tensor) and x.layout != _core.strided


def _result_type(a: Any, b: Any) -> Any:
    return _core.result_type(a, b)


def _check_alpha(dtype: Any, alpha: Any) -> None:
    if isinstance(alpha, bool) and dtype != _core.bool:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and not dtype.is_complex:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


def _same_sizes(a: Any, b: Any) -> None:
    if a.shape != b.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
        )


def _add_coo(a: Any, b: Any, alpha: Any) -> Any:
    _same_sizes(a, b)
    one, two = coo.parts(a), coo.parts(b)
    if two.values.shape[0] == 0:
        return coo.with_values(a, one.values.clone())
    right = two.values if alpha == 1 else two.values * alpha
    if right.dtype != two.values.dtype:
        right = right.to(two.values.dtype)
    if one.values.shape[0] == 0:
        return coo.with_values(b, right.clone())
    if one.dense_dim != two.dense_dim:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same density, but 'self' has "
            f"{one.sparse_dim} sparse dimensions while 'other' has {two.sparse_dim} sparse dimensions"
        )
    if not (one.coalesced and two.coalesced) and one.indices.shape == two.indices.shape:
        whole = one.values.is_contiguous() and right.is_contiguous()
        if whole and bool((one.indices == two.indices).all()):
            return coo.with_values(a, one.values + right)
    made = coo.make(torch.cat([one.indices, two.indices], 1), torch.cat([one.values, right], 0), a.shape, False)
    return coo.coalesce(made) if one.coalesced and two.coalesced else made


def _add_dense(dense: Any, t: Any, alpha: Any, dtype: Any) -> Any:
    if t.layout == _core.sparse_coo and dense.shape != t.shape:
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(dense.shape)} while other has size {list(t.shape)} (FYI: dense-sparse addition does not currently support "
            "broadcasting)"
        )
    if t.layout != _core.sparse_coo:
        from shim_torch._impl.sparse import compressed

        return compressed.add_dense(dense, t, alpha, dtype)
    return add_to_dense(dense.to(dtype, copy=True), t, alpha)


@kernel("add.Tensor")
def add(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``self + alpha * other``: sparse of two sparse tensors, dense with a dense ``self``.

    Errors: RuntimeError for sparse + dense (but compressed + dense of one shape is there), and for different sizes.
    """
    if not isinstance(other, Tensor) or not is_sparse(other):
        if (
            is_sparse(self)
            and self.layout != _core.sparse_coo
            and isinstance(other, Tensor)
            and other.shape == self.shape
        ):
            return _add_dense(other, self, 1, _result_type(self, other)) if alpha == 1 else add(other * alpha, self)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not isinstance(self, Tensor):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    dtype = _result_type(self, other)
    _check_alpha(dtype, alpha)
    if not is_sparse(self):
        return _add_dense(self, other, alpha, dtype)
    if self.layout == _core.sparse_coo and other.layout == _core.sparse_coo:
        return _add_coo(coo.of_dtype(self, dtype), coo.of_dtype(other, dtype), alpha)
    from shim_torch._impl.sparse import compressed

    return compressed.add(self, other, alpha, dtype)


@kernel("add_.Tensor")
def add_(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``self += alpha * other`` of the same sizes; entries are added to a dense ``self`` where they are."""
    from shim_torch._impl.sparse.dispatch import store

    if not is_sparse(self) and other.layout == _core.sparse_coo and self.shape == other.shape:
        dtype = _result_type(self, other)
        _check_alpha(dtype, alpha)
        if _core.can_cast(dtype, self.dtype) and self.dtype == dtype:
            return add_to_dense(self, other, alpha)
    return store(self, add(self, other, alpha), False)


@kernel("sub.Tensor", "subtract.Tensor")
def sub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``self - alpha * other`` by the rules of ``add``; RuntimeError for a compressed ``self``."""
    if is_sparse(self) and self.layout != _core.sparse_coo:
        return unsupported(self)
    if not isinstance(other, Tensor) or (is_sparse(self) and not is_sparse(other) and self.layout == _core.sparse_coo):
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    return add(self, other, -alpha)


@kernel("sub_.Tensor", "subtract_.Tensor")
def sub_(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``self -= alpha * other`` by the rules of ``add_``."""
    return add_(self, other, -alpha)


@kernel("rsub.Tensor", "rsub.Scalar")
def rsub(self: Any, other: Any, alpha: Any = 1) -> Any:
    """``other - alpha * self`` by the rules of ``sub``; RuntimeError where ``other`` is a number."""
    if not isinstance(other, Tensor):
        raise RuntimeError("sub(sparse, dense) is not supported. Use sub(dense, sparse) instead.")
    return sub(other, self, alpha)


# --- products --------------------------------------------------------------------------------------------------------------


def _scalar(x: Any) -> Any:
    """A number, or a 0-d dense tensor, which scales the values; else None."""
    if not isinstance(x, Tensor):
        return x
    return x if x.layout == _core.strided and x.dim() == 0 else None


def _intersect(a: Any, b: Any) -> Any:
    """The entries that both coalesced tensors have, multiplied."""
    one, two = coo.parts(a), coo.parts(b)
    if a.dim() != b.dim() or one.sparse_dim != two.sparse_dim or a.shape[: one.sparse_dim] != b.shape[: two.sparse_dim]:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse dimensions, "
            "and shape of sparse dimensions"
        )
    size = a.shape[: one.sparse_dim]
    left, right = coo.flat(one.indices, size), coo.flat(two.indices, size)
    shape = (*size, *_core.broadcast_shapes([tuple(one.values.shape[1:]), tuple(two.values.shape[1:])]))
    if not left.shape[0] or not right.shape[0]:
        at_left = at_right = left[:0]
    else:
        found = torch.searchsorted(right, left).clamp_(max=right.shape[0] - 1)
        at_left = (right.index_select(0, found) == left).nonzero().squeeze(1)
        at_right = found.index_select(0, at_left)
    values = one.values.index_select(0, at_left) * two.values.index_select(0, at_right)
    return coo.make(one.indices.index_select(1, at_left), values, shape, True)


def _times_dense(t: Any, dense: Any) -> Any:
    """Sparse times dense: the dense values at the entries. A dense operand of more dims repeats the entries."""

    shape = tuple(_core.broadcast_shapes([tuple(t.shape), tuple(dense.shape)]))
    p = coo.parts(t)
    extra = len(shape) - t.dim()
    if tuple(t.shape) != shape[extra:] or extra:
        t = _broadcast(t, shape)
        p = coo.parts(t)
    whole = dense.expand(shape)
    picked = whole[tuple(p.indices)] if p.sparse_dim else whole.unsqueeze(0).expand(p.values.shape)
    return coo.make(p.indices, p.values * picked, shape, p.coalesced)


def _broadcast(t: Any, shape: tuple[int, ...]) -> Any:
    """A sparse tensor repeated to a larger shape."""
    from shim_torch._impl.sparse.joins import broadcast_to

    return broadcast_to(t, shape)


@kernel("mul.Tensor", "multiply.Tensor")
def mul(self: Any, other: Any) -> Any:
    """``self * other``: at the entries of the sparse operand, of two sparse ones at those that both have.

    A number or a dense 0-d tensor multiplies the values. Dense operands broadcast with COO ones.
    """
    dtype = _result_type(self, other)
    for t, factor in ((self, other), (other, self)):
        if is_sparse(t) and (scale := _scalar(factor)) is not None:
            p = coo.parts(t)
            return coo.with_values(t, (p.values * scale).to(dtype))
    if not (is_sparse(self) and is_sparse(other)):
        t, dense = (self, other) if is_sparse(self) else (other, self)
        if t.layout != _core.sparse_coo:
            from shim_torch._impl.sparse import compressed

            return compressed.times_dense(t, dense, dtype)
        return coo.of_dtype(_times_dense(coo.of_dtype(t, dtype), dense.to(dtype)), dtype)
    if self.layout != _core.sparse_coo or other.layout != _core.sparse_coo:
        from shim_torch._impl.sparse import compressed

        return compressed.times_sparse(self, other, dtype)
    pairs = [(self, other), (other, self)]
    if self.dim() == other.dim() == 0 and other._nnz() > self._nnz():
        pairs.reverse()
    for t, factor in pairs:
        if factor.dim() == 0:
            return mul(t, factor.to_dense())
    return _intersect(_coalesced(coo.of_dtype(self, dtype)), _coalesced(coo.of_dtype(other, dtype)))


def _coalesced(t: Any) -> Any:
    return t if coo.parts(t).coalesced else coo.coalesce(t)


def unsupported(t: Any) -> Any:
    """RuntimeError that the layout of ``t`` is not supported."""
    raise RuntimeError(f"unsupported tensor layout: {coo.word(t)}")


def _scale_in_place(self: Any, factor: Any, what: str) -> bool:
    """Values scaled where they are, so that others who hold them see it."""
    scale = _scalar(factor)
    if not is_sparse(self) or scale is None:
        return False
    values = coo.parts(self).values
    if values.is_contiguous():
        getattr(values, what)(scale)
    else:  # an expanded gradient: its elements share memory
        _core.replace_sparse(self, coo.with_values(self, getattr(values.contiguous(), what)(scale)))
    return True


@kernel("mul_.Tensor", "multiply_.Tensor")
def mul_(self: Any, other: Any) -> Any:
    """``self *= other`` by the rules of ``mul``; a dense ``self`` is multiplied by ``other`` made dense."""
    from shim_torch._impl.sparse.dispatch import store

    if _scale_in_place(self, other, "mul_"):
        return self
    if not is_sparse(self):
        return self.mul_(other.to_dense())
    return store(self, mul(self, other), False)


@kernel("zero_")
def zero_(self: Any) -> Any:
    """Makes ``self`` zero by taking away its entries."""
    if self.layout != _core.sparse_coo:
        from shim_torch._impl.sparse import compressed

        return _core.replace_sparse(self, compressed.zeros_like(self, self.dtype, self.device))
    p = coo.parts(self)
    return _core.replace_sparse(self, coo.empty(self.shape, p.sparse_dim, p.dense_dim, self.dtype, self.device))


@kernel("dist")
def dist(self: Any, other: Any, p: Any) -> Any:
    """The ``p``-norm of ``self - other``."""
    from shim_torch._impl.sparse.reductions import norm_of

    return norm_of(sub(self, other), p)


def add_to_dense(dense: Any, t: Any, alpha: Any = 1) -> Any:
    """``dense += alpha * t`` in place; the sizes are equal."""
    p = parts(t)
    if not p.values.numel():
        return dense
    values = p.values.to(dense.dtype)
    if alpha != 1:
        values = values * alpha
    size = t.shape[: p.sparse_dim]
    count = math.prod(size)
    if dense.dtype == _core.bool or not dense.is_contiguous():
        return dense.copy_(dense + sum_rows(values, flat(p.indices, size), count).reshape(t.shape))
    dense.view(count, *t.shape[p.sparse_dim :]).index_add_(0, flat(p.indices, size), values)
    return dense
