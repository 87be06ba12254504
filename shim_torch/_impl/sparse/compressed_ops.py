"""Sums, products, selections and transposes of compressed tensors."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo, invariants
from shim_torch._impl.table.calls import torch


def _here() -> Any:
    from shim_torch._impl.sparse import compressed

    return compressed


def add(a: Any, b: Any, alpha: Any, dtype: Any) -> Any:
    """The sum of two tensors of one compressed layout: of all their entries."""
    if a.layout != b.layout:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have the same layout, but got {a.layout} and {b.layout}"
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape {list(a.shape)} and tensor `other` with shape {list(b.shape)}"
        )
    if a.is_meta:
        return _here().zeros_like(a, dtype, a.device)
    one, two = coo.of_dtype(a, dtype), coo.of_dtype(b, dtype)
    p, q = coo.parts(one), coo.parts(two)
    right = q.values if alpha == 1 else (q.values * alpha).to(dtype)
    if p.plain.shape == q.plain.shape and bool((p.plain == q.plain).all()) and bool((p.indices == q.indices).all()):
        return coo.with_values(one, p.values + right)
    here = _here()
    block = here.blocksize(a)
    left = here.entries(one)
    other = here.entries(coo.with_values(two, right))
    return (
        here.assemble(_merged(left, other), a.layout, p.indices.dtype)
        if block is None or block == here.blocksize(b)
        else (_refuse_blocks())
    )


def _refuse_blocks() -> Any:
    raise RuntimeError("add: expected tensors of the same blocksize")


def _merged(one: Any, two: Any) -> Any:
    """The entries of both, those of one place summed."""
    from shim_torch._impl.tensor.distinct import unique

    down, across = one.blocks

    def place(e: Any) -> Any:
        return (e.batch * down + e.row) * max(across, 1) + e.column

    found, at = unique(torch.cat([place(one), place(two)]), return_inverse=True)
    values = coo.sum_rows(torch.cat([one.values, two.values]), at, found.shape[0])
    count = 1
    for n in one.batch_shape:
        count *= n
    batch, row, column = coo.unflat(found, (count, down, max(across, 1)))
    return type(one)(batch, row, column, values, one.blocks, one.batch_shape, one.dense_shape)


def add_dense(dense: Any, t: Any, alpha: Any, dtype: Any) -> Any:
    """A dense tensor plus a compressed one: dense."""
    if dense.shape != t.shape:
        raise RuntimeError(
            f"Expected `self` and `other` to have the same size, but got {list(dense.shape)} and {list(t.shape)}"
        )
    whole = coo.to_dense(t, dtype)
    return dense.to(dtype) + (whole if alpha == 1 else whole * alpha)


def times_dense(t: Any, dense: Any, dtype: Any) -> Any:
    """The dense values at the entries, multiplied."""
    whole = dense.to(dtype).expand(t.shape) if dense.shape != t.shape else dense.to(dtype)
    picked = coo.parts(_here().mask(whole, t)).values
    return coo.with_values(t, coo.parts(t).values.to(dtype) * picked)


def times_sparse(a: Any, b: Any, dtype: Any) -> Any:
    """The entries that both have, multiplied; in the layout of the first."""
    from shim_torch._impl.sparse.arithmetic import _coalesced, _intersect
    from shim_torch._impl.sparse.compressed_conversions import from_any

    if a.shape != b.shape:
        raise RuntimeError(f"mul: expected tensors of the same shape, but got {list(a.shape)} and {list(b.shape)}")
    here = _here()
    layout = a.layout if a.layout != _core.sparse_coo else b.layout
    block = here.blocksize(a if a.layout != _core.sparse_coo else b)
    one, two = (
        t if t.layout == _core.sparse_coo else here.to_coo(t) for t in (coo.of_dtype(a, dtype), coo.of_dtype(b, dtype))
    )
    return from_any(_intersect(_coalesced(one), _coalesced(two)), layout, block, None)


def transpose(t: Any, a: int, b: int) -> Any:
    """Rows and columns change places with the layout's name; batch dims are permuted."""
    p = coo.parts(t)
    here = _here()
    base = t.dim() - p.dense_dim
    batch = base - 2
    if p.dense_dim:
        raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
    if a == b:
        return _core.alias(t)
    size = list(t.shape)
    size[a], size[b] = size[b], size[a]
    if a < batch and b < batch:
        parts = (p.indices.transpose(a, b), p.plain.transpose(a, b), p.values.transpose(a, b))
        return here._with_index(t, size, *(x.contiguous() for x in parts))
    if {a, b} == {batch, batch + 1}:
        flipped = {
            _core.sparse_csr: _core.sparse_csc,
            _core.sparse_csc: _core.sparse_csr,
            _core.sparse_bsr: _core.sparse_bsc,
            _core.sparse_bsc: _core.sparse_bsr,
        }[p.layout]
        values = p.values.transpose(batch + 1, batch + 2) if p.layout in here.BLOCKED else p.values
        return _core.sparse_tensor(flipped, size, p.indices, p.plain, values, 2, p.dense_dim, False)

    def kind(d: int) -> str:
        return f"{d}({'Batch' if d < batch else 'Sparse' if d < base else 'Dense'})"

    raise RuntimeError(
        f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {kind(a)} and {kind(b)}"
    )


def select(t: Any, dim: int, index: int) -> Any:
    """One batch, one row or column (COO), or one place of a dense dim."""
    from shim_torch._impl.sparse.shapes import _dim, _index

    d = _dim(dim, t.dim())
    index = _index(index, t.shape[d], t.shape, d)
    p = coo.parts(t)
    here = _here()
    base = t.dim() - p.dense_dim
    batch = base - 2
    size = [n for k, n in enumerate(t.shape) if k != d]
    if d < batch:
        return here._with_index(t, size, *(x.select(d, index) for x in (p.indices, p.plain, p.values)))
    if d >= base:
        at = p.values.dim() - p.dense_dim + d - base
        return _core.sparse_tensor(
            p.layout, size, p.indices, p.plain, p.values.select(at, index), 2, p.dense_dim - 1, False
        )
    if batch:
        raise RuntimeError(
            "select(): selecting sparse dimensions is not supported for batched sparse compressed tensors."
        )
    from shim_torch._impl.sparse import shapes

    return shapes.select(here.to_coo(t), d, index)


def sum_dim(t: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    """Sums over rows or columns of a CSR matrix: a CSR matrix, or over both."""
    from shim_torch._impl.sparse.compressed_conversions import from_any
    from shim_torch._impl.sparse.reductions import _dims, _sum_dtype

    dims = list(range(t.dim())) if dim is None or (not isinstance(dim, int) and not len(dim)) else _dims(dim, t.dim())
    if t.layout != _core.sparse_csr and not (dim is None and not keepdim):
        raise RuntimeError(
            "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout "
            + coo.word(t)
        )
    if not keepdim:
        if len(dims) == t.dim() and dim is None:
            return t.values().sum(dtype=dtype)
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    if t.dim() != 2:
        raise RuntimeError("reduction operations are only supported for CSR matrices")
    here = _here()
    whole = here.to_coo(t)
    p = coo.parts(whole)
    indices = p.indices.clone()
    for d in dims:
        indices[d] = 0
    size = [1 if d in dims else n for d, n in enumerate(t.shape)]
    made = coo.coalesce(coo.make(indices, p.values.to(_sum_dtype(t, dtype)), size, False))
    return from_any(made, t.layout, None, None)


def check_sampled(self: Any, mat1: Any, mat2: Any) -> None:
    """What ``torch.sparse.sampled_addmm`` asks of its operands."""
    from shim_torch._impl.sparse.dispatch import could_not_run

    if self.layout in (_core.strided, _core.sparse_coo):
        where = {"cuda": "CUDA"}.get(self.device.type, "CPU")
        raise NotImplementedError(
            could_not_run("aten::sparse_sampled_addmm", f"Sparse{where}" if self.is_sparse else where)
        )

    def require(ok: bool, text: str) -> None:
        if not ok:
            raise RuntimeError(f"sampled_addmm: {text}")

    for name, m in (("mat1", mat1), ("mat2", mat2)):
        require(m.layout == _core.strided, f"Expected {name} to have strided layout, but got {coo.word(m)}")
    require(self.layout == _core.sparse_csr, f"Expected result to have sparse csr layout, but got {coo.word(self)}")
    for a, b, one, two in ((mat1, mat2, "mat1", "mat2"), (mat1, self, "mat1", "self")):
        words = f"{invariants.kind(a.dtype)} and {invariants.kind(b.dtype)}"
        require(a.dtype == b.dtype, f"Expected {one} and {two} to have the same dtype, but got {words}")
    for name, m in (("mat1", mat1), ("mat2", mat2)):
        require(m.dim() >= 2, f"Expected {name} to be a matrix, got {m.dim()}-D tensor")
    first, second, own = (list(t.shape[:-2]) for t in (mat1, mat2, self))
    require(first == second, f"Expected mat1 and mat2 to have the same batch size, but got {first} and {second}")
    require(not own or own == first, f"Expected self and mat1 to have the same batch size, but got {own} and {first}")
    (m, k), (k2, n) = mat1.shape[-2:], mat2.shape[-2:]
    require(k == k2, f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {k2}x{n})")
    require(self.shape[-2] == m, "self.shape[-2] must match mat1.shape[-2]")
    require(self.shape[-1] == n, "self.shape[-1] must match mat2.shape[-1]")
