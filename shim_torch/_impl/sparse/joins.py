"""COO tensors joined and broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.sparse.dispatch import composite, kernel
from shim_torch._impl.sparse.shapes import _dim, _is_coo
from shim_torch._impl.table.calls import aten, torch


@kernel("cat", "concat", "concatenate")
def cat(tensors: list[Any], dim: int = 0) -> Any:
    """COO tensors one after the other along ``dim``, in their widest dtype; the result is not coalesced.

    Errors: RuntimeError for other layouts, for other sizes beside ``dim``, and for other numbers of sparse dims.
    """
    for i, t in enumerate(tensors):
        if t.layout == _core.strided:
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {i}.")
        if not _is_coo(t):
            raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    first = tensors[0]
    d, size = _dim(dim, first.dim()), list(first.shape)
    ps = [coo.parts(t) for t in tensors]
    dtype = first.dtype
    for i, (t, p) in enumerate(zip(tensors, ps, strict=True)):
        if t.dim() != len(size) or any(a != b for k, (a, b) in enumerate(zip(t.shape, size, strict=True)) if k != d):
            raise RuntimeError(
                f"All tensors must have the same shape: {size} (except in the concatenating dimension), but found shape: "
                f"{list(t.shape)} at position {i}."
            )
        if p.sparse_dim != ps[0].sparse_dim or p.dense_dim != ps[0].dense_dim:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {ps[0].sparse_dim}, {ps[0].dense_dim}, but tensor at "
                f"position {i} has {p.sparse_dim}, {p.dense_dim}."
            )
        dtype = _core.promote_types(dtype, t.dtype)
    n, offset, indices, values = ps[0].sparse_dim, 0, [], []
    for t, p in zip(tensors, ps, strict=True):
        index, value = p.indices, p.values.to(dtype)
        if d < n:
            index = index.clone()
            index[d] += offset
        else:
            after = sum(s.shape[d] for s in tensors) - offset - t.shape[d]
            shape = list(value.shape)
            pad = [value.new_zeros([*shape[: d - n + 1], k, *shape[d - n + 2 :]]) for k in (offset, after)]
            value = torch.cat([pad[0], value, pad[1]], d - n + 1)
        offset += t.shape[d]
        indices.append(index)
        values.append(value)
    size[d] = offset
    return coo.make(torch.cat(indices, 1), torch.cat(values, 0), size, False)


@composite("stack")
def stack(tensors: list[Any], dim: int = 0) -> Any:
    """Tensors of one shape along a new dim."""
    d = _dim(dim, tensors[0].dim() + 1)
    for i, t in enumerate(tensors):
        if t.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and {list(t.shape)} at "
                f"entry {i}"
            )
    return aten._sparse_stack(tensors, d)


@composite("unbind.int")
def unbind(self: Any, dim: int = 0) -> Any:
    """The slices of ``dim``, as a tuple."""
    d = _dim(dim, self.dim())
    return tuple(self.select(d, i) for i in range(self.shape[d]))


def broadcast_to(t: Any, shape: tuple[int, ...]) -> Any:
    """The tensor repeated: new dims lead, dims of size 1 grow."""
    p = coo.parts(t)
    extra = len(shape) - t.dim()
    for d, k in enumerate(t.shape):
        if k not in (1, shape[d + extra]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[d + extra]}) must match the existing size ({k}) at non-singleton "
                f"dimension {d + extra}.  Target sizes: {list(shape)}.  Tensor sizes: {list(t.shape)}"
            )
    n = p.sparse_dim + extra
    grown = [d for d in range(n) if d < extra or t.shape[d - extra] != shape[d]]
    values = p.values.expand(p.values.shape[0], *shape[n:])
    lead = torch.zeros((extra, p.indices.shape[1]), dtype=_core.int64, device=p.indices.device)
    indices = torch.cat([lead, p.indices])
    for d in reversed(grown):
        count, k = indices.shape[1], shape[d]
        indices = indices.repeat(1, k)
        indices[d] = torch.repeat_interleave(torch.arange(k, device=indices.device), count)
        values = values.repeat(k, *(1 for _ in values.shape[1:]))
    coalesced = p.coalesced and all(d == i for i, d in enumerate(grown))
    return _core.sparse_tensor(_core.sparse_coo, shape, indices, None, values, n, p.dense_dim, coalesced)


@kernel("broadcast_to")
def sparse_broadcast_to(self: Any, size: Sequence[int]) -> Any:
    """``self`` repeated to ``size``."""
    return broadcast_to(self, tuple(size))


@kernel("sum_to_size")
def sum_to_size(self: Any, size: Sequence[int]) -> Any:
    """Sums over the dims that broadcasting from ``size`` would have made; dense where ``size`` is empty."""
    dense = self.to_dense().sum_to_size(size)
    return dense.to_sparse() if len(size) else dense


@composite("flatten.using_ints", "reshape", "view_as", "ravel")
def reshape(self: Any, *rest: Any) -> Any:
    """RuntimeError: sparse tensors are not reshaped."""
    if not _is_coo(self):
        raise RuntimeError("Sparse CSR tensors do not have is_contiguous")
    raise RuntimeError("reshape is not implemented for sparse tensors")


@composite("expand")
def expand(self: Any, size: Sequence[int], implicit: bool = False) -> Any:
    """``self``, if it has that size already; RuntimeError for any other."""
    if len(size) == self.dim() and all(a in (b, -1) for a, b in zip(size, self.shape, strict=True)):
        return self
    kind = "Sparse" if _is_coo(self) else "SparseCsr"
    raise RuntimeError(f"expand is unsupported for {kind} tensors")


@composite("broadcast_tensors")
def broadcast_tensors(tensors: list[Any]) -> Any:
    """Tensors of one shape as they are; RuntimeError where a sparse one would have to be expanded."""
    shape = tuple(_core.broadcast_shapes([tuple(t.shape) for t in tensors]))
    return [t if tuple(t.shape) == shape else t.expand(shape) for t in tensors]
