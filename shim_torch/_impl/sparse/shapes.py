"""Transposes, selections and joins of COO tensors. Compressed layouts go to ``_compressed``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.sparse.dispatch import composite, kernel, refuse
from shim_torch._impl.table.calls import torch


def _dim(dim: int, n: int) -> int:
    if not -n <= dim < n and not (n == 0 and dim in (0, -1)):
        low, high = (-n, n - 1) if n else (-1, 0)
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    return dim + n if dim < 0 else dim


def _is_coo(t: Any) -> bool:
    return t.layout == _core.sparse_coo


@composite("swapaxes", "swapdims")
def swapaxes(self: Any, dim0: int, dim1: int) -> Any:
    """``self.transpose(dim0, dim1)``."""
    return self.transpose(dim0, dim1)


@kernel("transpose.int")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    """Two dims exchanged; RuntimeError for a sparse and a dense dim of a COO tensor."""
    a, b = _dim(dim0, self.dim()), _dim(dim1, self.dim())
    if not _is_coo(self):
        from shim_torch._impl.sparse import compressed

        return compressed.transpose(self, a, b)
    if a == b:
        return _core.alias(self)
    order = list(range(self.dim()))
    order[a], order[b] = order[b], order[a]
    n = self.sparse_dim()
    if (a < n) != (b < n):
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {n}, d0: {a}, d1: {b}"
        )
    made = _permuted(self, order)
    p = coo.parts(self)
    return _core.set_coalesced(made, True) if p.coalesced and not p.values.shape[0] else made


def _permuted(t: Any, order: list[int]) -> Any:
    p = coo.parts(t)
    n = p.sparse_dim
    size = [t.shape[d] for d in order]
    indices, values, coalesced = p.indices, p.values, p.coalesced
    if order[:n] != list(range(n)):
        indices = indices[order[:n]]
        coalesced = coalesced and _sorted_still(order[:n])
    if p.dense_dim:
        values = values.permute(0, *(d - n + 1 for d in order[n:]))
    made = _core.sparse_tensor(_core.sparse_coo, size, indices, None, values, n, p.dense_dim, False)
    return _core.set_coalesced(made, coalesced)


def _sorted_still(order: list[int]) -> bool:
    return order == sorted(order)


@kernel("t")
def t_(self: Any) -> Any:
    """A matrix transposed; tensors of fewer dims as they are. RuntimeError for others, and for dense dims."""
    if _is_coo(self) and (self.sparse_dim() > 2 or self.dense_dim()):
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {self.sparse_dim()} sparse and "
            f"{self.dense_dim()} dense dimensions"
        )
    if self.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.dim()}D")
    if self.dim() < 2:
        return _core.alias(self)
    return transpose(self, 0, 1)


def _inplace_transpose(self: Any, *dims: int) -> Any:
    if not _is_coo(self):
        refuse("aten::transpose_", [self])
    return _core.replace_sparse(self, transpose(self, *dims))


kernel("transpose_")(_inplace_transpose)
kernel("t_")(lambda self: _inplace_transpose(self, 0, 1) if self.dim() == 2 else self)


@kernel("permute")
def permute(self: Any, dims: Sequence[int]) -> Any:
    """The dims of a COO tensor in another order, in which sparse dims stay before dense ones (RuntimeError)."""
    if not _is_coo(self):
        refuse("aten::as_strided", [self])
    n = self.dim()
    if len(dims) != n:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}"
        )
    order = [_dim(d, n) for d in dims]
    if len(set(order)) != n:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    k = self.sparse_dim()
    if sorted(order[:k]) != list(range(k)):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only transpositions within "
            "sparse and dense dimensions are supported."
        )
    made = _permuted(self, order)
    # PyTorch looks at the first dim as it was given: a negative one is no 0
    return _core.set_coalesced(made, False) if dims and dims[0] else made


@kernel("unsqueeze")
def unsqueeze(self: Any, dim: int) -> Any:
    """A dim of size 1 in a COO tensor: sparse where it stands before or right behind the sparse dims, else dense."""
    if not _is_coo(self):
        raise RuntimeError("Sparse CSR tensors do not have strides")
    d = _dim(dim, self.dim() + 1)
    p = coo.parts(self)
    size = [*self.shape[:d], 1, *self.shape[d:]]
    if d <= p.sparse_dim:
        row = torch.zeros((1, p.indices.shape[1]), dtype=_core.int64, device=p.indices.device)
        indices = torch.cat([p.indices[:d], row, p.indices[d:]])
        return _core.sparse_tensor(
            _core.sparse_coo, size, indices, None, p.values, p.sparse_dim + 1, p.dense_dim, p.coalesced
        )
    values = p.values.unsqueeze(d - p.sparse_dim + 1)
    return _core.sparse_tensor(
        _core.sparse_coo, size, p.indices, None, values, p.sparse_dim, p.dense_dim + 1, p.coalesced
    )


def _index(index: int, size: int, shape: Any, dim: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return index + size if index < 0 else index


@kernel("select.int")
def select(self: Any, dim: int, index: int) -> Any:
    """What is at one index of ``dim``; dense where that was the only sparse dim."""
    if not _is_coo(self):
        from shim_torch._impl.sparse import compressed

        return compressed.select(self, dim, index)
    if self.dim() == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = _dim(dim, self.dim())
    index = _index(index, self.shape[d], self.shape, d)
    p = coo.parts(self)
    size = [n for k, n in enumerate(self.shape) if k != d]
    if d >= p.sparse_dim:
        values = p.values.select(d - p.sparse_dim + 1, index)
        return coo.make(p.indices, values, size, p.coalesced)
    at = (p.indices[d] == index).nonzero().squeeze(1)
    values = p.values.index_select(0, at)
    if p.sparse_dim == 1:
        return values.sum(0).to(self.dtype) if self.dtype != _core.bool else values.any(0)
    rows = [k for k in range(p.sparse_dim) if k != d]
    return coo.make(p.indices[rows].index_select(1, at), values, size, p.coalesced)


@composite("select_copy.int")
def select_copy(self: Any, dim: int, index: int) -> Any:
    """What ``select`` gives, with memory of its own."""
    return self.select(dim, index).clone()


@kernel("index_select")
def index_select(self: Any, dim: int, index: Any) -> Any:
    """What is at the indices (1-d, int32 or int64) along ``dim`` of a COO tensor, in their order.

    Errors: IndexError for indices of other shapes or dtypes, or out of range.
    """
    if not isinstance(self, _core.TensorBase) or not _is_coo(self):
        refuse("aten::index_select", [self])
    d = _dim(dim, self.dim())
    if index.dim() > 1 or index.layout != _core.strided:
        raise IndexError("index_select() argument index must be 1-D strided (non-sparse) tensor.")
    if index.dtype not in (_core.int64, _core.int32):
        raise IndexError(
            f"index_select(): Expected dtype int32/int64 for index but got: {index.dtype}".replace("torch.", "")
        )
    index = index.reshape(-1).to(_core.int64)
    size, count = list(self.shape), index.shape[0]
    if count:
        low, high = int(index.min()), int(index.max())
        bad = low if low < -size[d] else high if high >= size[d] else None
        if bad is not None:
            raise IndexError(
                f"index_select(): index contains {bad} that is out of range for tensor of size {list(self.shape)} at dimension {d}"
            )
    index = torch.where(index < 0, index + size[d], index)
    p = coo.parts(self)
    size[d] = count
    if d >= p.sparse_dim:
        return coo.make(p.indices, p.values.index_select(d - p.sparse_dim + 1, index), size, p.coalesced)
    place, entry = _matches(index, p.indices[d])
    indices = p.indices.index_select(1, entry)
    indices = torch.cat([indices[:d], place.unsqueeze(0), indices[d + 1 :]])
    return coo.make(indices, p.values.index_select(0, entry), size, False)


def _matches(index: Any, row: Any) -> tuple[Any, Any]:
    """All pairs (place in index, entry) where index[place] == row[entry], by place and then entry."""
    order = torch.argsort(row, stable=True)
    found = row.index_select(0, order)
    first, last = torch.searchsorted(found, index), torch.searchsorted(found, index, right=True)
    counts = last - first
    place = torch.repeat_interleave(torch.arange(index.shape[0], device=index.device), counts)
    start = counts.cumsum(0) - counts
    within = torch.arange(place.shape[0], device=index.device) - start.index_select(0, place)
    return place, order.index_select(0, first.index_select(0, place) + within)


@kernel("narrow_copy")
def narrow_copy(self: Any, dim: int, start: int, length: int) -> Any:
    """``length`` indices of ``dim`` from ``start`` on of a COO tensor; RuntimeError out of range."""
    if not _is_coo(self):
        refuse("aten::narrow_copy", [self])
    if not 0 <= dim < self.dim():
        raise RuntimeError(f"Dimension out of range (expected to be in range of [0, {self.dim() - 1}], but got {dim})")
    d = dim
    n = self.shape[d]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if start < 0:
        start += n
    if not 0 <= start <= n or start + length > n:
        raise RuntimeError(f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {n}).")
    p = coo.parts(self)
    size = list(self.shape)
    size[d] = length
    if d >= p.sparse_dim:
        return coo.make(p.indices, p.values.narrow_copy(d - p.sparse_dim + 1, start, length), size, p.coalesced)
    row = p.indices[d]
    at = ((row >= start) & (row < start + length)).nonzero().squeeze(1)
    indices = p.indices.index_select(1, at)
    indices[d] -= start
    return coo.make(indices, p.values.index_select(0, at), size, p.coalesced)


# --- joining ---------------------------------------------------------------------------------------------------------------
