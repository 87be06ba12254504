"""Compressed sparse rows and columns (CSR, CSC), and blocks of them (BSR, BSC): parts, construction, conversions.

``indices`` is (*batch, n + 1), ``plain`` (*batch, nnz), ``values`` (*batch, nnz, *blocksize, *dense sizes); every batch has as
many entries. The work goes through ``Entries``, the same in all four layouts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.table.calls import torch

ROWS = ("crow_indices", "col_indices")
COLUMNS = ("ccol_indices", "row_indices")
NAMES: dict[Any, tuple[str, str]] = {
    _core.sparse_csr: ROWS,
    _core.sparse_bsr: ROWS,
    _core.sparse_csc: COLUMNS,
    _core.sparse_bsc: COLUMNS,
}
BLOCKED = (_core.sparse_bsr, _core.sparse_bsc)
BY_COLUMN = (_core.sparse_csc, _core.sparse_bsc)


class Entries(NamedTuple):
    """Blocks (1x1 where the layout has none) of a batch of matrices: (n,) places, (n, b0, b1, *dense) values."""

    batch: Any
    row: Any
    column: Any
    values: Any
    blocks: tuple[int, int]  # how many there are down and across
    batch_shape: tuple[int, ...]
    dense_shape: tuple[int, ...]


def part(t: Any, name: str) -> Any:
    """crow_indices() and its like; RuntimeError for other layouts."""
    found = _core.sparse_parts(t)
    if found is None or name not in NAMES.get(found[0], ()):
        kind = "row" if name in ROWS else "column"
        raise RuntimeError(f"{name} expected sparse {kind} compressed tensor layout but got {coo.word(t)}")
    p = coo.Parts(*found)
    return p.indices if NAMES[p.layout][0] == name else p.plain


def blocksize(t: Any) -> tuple[int, int] | None:
    """The size of the blocks; None of a layout without."""
    p = coo.parts(t)
    if p.layout not in BLOCKED:
        return None
    k = p.plain.dim()
    return (p.values.shape[k], p.values.shape[k + 1])


def batch_dims(t: Any) -> int:
    """How many dims before the matrix are batches."""
    return int(coo.parts(t).plain.dim() - 1)


def unsafe(compressed: Any, plain: Any, values: Any, size: Sequence[int], layout: Any, dtype: Any, device: Any) -> Any:
    """The tensor of these parts, unchecked."""
    if layout not in NAMES:
        raise RuntimeError(f"expected a sparse compressed tensor layout, but got {layout}")
    values = values.to(dtype=dtype or values.dtype, device=device or values.device)
    compressed, plain = compressed.to(values.device), plain.to(values.device)
    batch = max(compressed.dim() - 1, 0)
    dense = max(len(size) - batch - 2, 0)
    return _core.sparse_tensor(layout, size, compressed, plain, values, 2, dense, False)


# --- entries ----------------------------------------------------------------------------------------------------------------


def entries(t: Any) -> Entries:
    """The entries of a compressed tensor, in the order of its layout."""
    p = coo.parts(t)
    batch_shape = tuple(p.plain.shape[:-1])
    count, nnz = math.prod(batch_shape), p.plain.shape[-1]
    block = blocksize(t) or (1, 1)
    base = t.dim() - p.dense_dim
    blocks = (t.shape[base - 2] // block[0], t.shape[base - 1] // block[1])
    dense_shape = tuple(t.shape[base:])
    major = blocks[1] if p.layout in BY_COLUMN else blocks[0]
    counts = p.indices.to(_core.int64).reshape(count, major + 1).diff(dim=1).reshape(-1)
    along = torch.repeat_interleave(torch.arange(count * major, device=t.device), counts)
    along = along % major if major else along
    batch = torch.arange(count, device=t.device).repeat_interleave(nnz)
    plain = p.plain.to(_core.int64).reshape(-1)
    row, column = (plain, along) if p.layout in BY_COLUMN else (along, plain)
    values = p.values.reshape(count * nnz, *block, *dense_shape)
    return Entries(batch, row, column, values, blocks, batch_shape, dense_shape)


def assemble(e: Entries, layout: Any, index_dtype: Any = None, name: str = "to_sparse") -> Any:
    """The compressed tensor of entries in any order, none of one place twice."""
    down, across = e.blocks
    major, minor = (e.column, e.row) if layout in BY_COLUMN else (e.row, e.column)
    n_major, n_minor = (across, down) if layout in BY_COLUMN else (down, across)
    count = math.prod(e.batch_shape)
    order = torch.argsort((e.batch * n_major + major) * max(n_minor, 1) + minor, stable=True)
    per = torch.bincount(e.batch * n_major + major, minlength=count * n_major).reshape(count, n_major)
    totals = per.sum(1)
    if count > 1 and bool((totals != totals[0]).any()):
        raise RuntimeError(f"{name}: Expect the same number of specified elements per batch.")
    nnz = e.row.shape[0] // count if count else 0
    kind = index_dtype or _core.int64
    start = torch.zeros((count, 1), dtype=_core.int64, device=e.row.device)
    compressed = torch.cat([start, per.cumsum(1)], 1).reshape(*e.batch_shape, n_major + 1).to(kind)
    plain = minor.index_select(0, order).reshape(*e.batch_shape, nnz).to(kind)
    b0, b1 = e.values.shape[1:3]
    block = (b0, b1) if layout in BLOCKED else ()
    values = e.values.index_select(0, order).reshape(*e.batch_shape, nnz, *block, *e.dense_shape)
    size = (*e.batch_shape, down * b0, across * b1, *e.dense_shape)
    return _core.sparse_tensor(layout, size, compressed, plain, values, 2, len(e.dense_shape), False)


def _spread(e: Entries) -> Entries:
    """Every element of a block as an entry of its own."""
    b0, b1 = e.values.shape[1:3]
    if b0 == b1 == 1:
        return e
    n, each = e.row.shape[0], b0 * b1
    inside = torch.arange(each, device=e.row.device).repeat(n)
    row = e.row.repeat_interleave(each) * b0 + torch.div(inside, b1, rounding_mode="floor")
    column = e.column.repeat_interleave(each) * b1 + inside % b1
    values = e.values.reshape(n * each, 1, 1, *e.dense_shape)
    size = (e.blocks[0] * b0, e.blocks[1] * b1)
    return Entries(e.batch.repeat_interleave(each), row, column, values, size, e.batch_shape, e.dense_shape)


def _gathered(e: Entries, block: tuple[int, int]) -> Entries:
    """1x1 entries gathered into blocks; what a block lacks is zero."""
    from shim_torch._impl.tensor.distinct import unique

    b0, b1 = block
    down, across = e.blocks[0] // b0, e.blocks[1] // b1
    place = (e.batch * down + torch.div(e.row, b0, rounding_mode="floor")) * max(across, 1)
    place = place + torch.div(e.column, b1, rounding_mode="floor")
    found, at = unique(place, return_inverse=True)
    inside = (at * b0 + e.row % b0) * b1 + e.column % b1
    values = coo.sum_rows(e.values.reshape(-1, *e.dense_shape), inside, found.shape[0] * b0 * b1)
    batch, row, column = coo.unflat(found, (max(math.prod(e.batch_shape), 1), down, max(across, 1)))
    values = values.reshape(-1, b0, b1, *e.dense_shape)
    return Entries(batch, row, column, values, (down, across), e.batch_shape, e.dense_shape)


# --- conversions ------------------------------------------------------------------------------------------------------------


def to_dense(t: Any, dtype: Any = None) -> Any:
    """The dense tensor of a compressed one, of ``dtype`` if it is given; entries of one place add up."""
    e = entries(t)
    values = e.values if dtype is None else e.values.to(dtype)
    (down, across), (b0, b1) = e.blocks, e.values.shape[1:3]
    count, k = math.prod(e.batch_shape), 5 + len(e.dense_shape)
    whole = coo.sum_rows(values, (e.batch * down + e.row) * across + e.column, count * down * across)
    whole = whole.reshape(count, down, across, b0, b1, *e.dense_shape).permute(0, 1, 3, 2, 4, *range(5, k))
    return whole.reshape(tuple(t.shape))


def to_coo(t: Any) -> Any:
    """COO with the batch dims as sparse dims; coalesced."""
    e = _spread(entries(t))
    rows = [e.row, e.column]
    if e.batch_shape:
        rows = [*coo.unflat(e.batch, e.batch_shape), *rows]
    made = coo.make(torch.stack(rows), e.values.reshape(-1, *e.dense_shape), t.shape, False)
    if t.layout == _core.sparse_csr:
        return _core.set_coalesced(made, True)
    return coo.coalesce(made)


def _blocks_of(t: Any, block: tuple[int, int], dense: int) -> Any:
    """(batches, down, across, b0, b1, *dense) of a dense tensor."""
    base = t.dim() - dense
    rows, columns = t.shape[base - 2], t.shape[base - 1]
    down, across = rows // block[0], columns // block[1]
    whole = t.reshape(math.prod(t.shape[: base - 2]), down, block[0], across, block[1], *t.shape[base:])
    return whole.permute(0, 1, 3, 2, 4, *range(5, 5 + dense))


def mask(t: Any, pattern: Any) -> Any:
    """The values of a tensor of any layout at the entries of a compressed pattern."""
    e = entries(pattern)
    whole = t if t.layout == _core.strided else coo.to_dense(t)
    block = tuple(e.values.shape[1:3])
    values = _blocks_of(whole, (block[0], block[1]), len(e.dense_shape))[e.batch, e.row, e.column]
    return coo.with_values(pattern, values.reshape(coo.parts(pattern).values.shape))


def copy_(self: Any, src: Any) -> Any:
    """The values and indices of a tensor of as many entries, where they are."""
    if src.layout != self.layout:
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout is "
            f"{coo.word(self)} and src layout is {coo.word(src)}"
        )
    ours, theirs = coo.parts(self), coo.parts(src)
    if ours.plain.shape[-1] != theirs.plain.shape[-1]:
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
        )
    for d in range(self.dim()):
        if self.shape[d] != src.shape[d]:
            raise RuntimeError(
                f"torch.copy_: expected shapes of self and src to match along dimension {d} for {coo.word(self)} layout but the "
                f"corresponding dimensions of self and src are {self.shape[d]} and {src.shape[d]}, respectively."
            )
    if ours.values.shape != theirs.values.shape:
        raise RuntimeError(
            f"torch.copy_: copy of sparse compressed tensors having different block sizes is not supported. self and src block "
            f"sizes are {list(blocksize(self) or ())} and {list(blocksize(src) or ())}, respectively."
        )
    ours.values.copy_(theirs.values)
    ours.indices.copy_(theirs.indices)
    ours.plain.copy_(theirs.plain)
    return self


def _with_index(t: Any, size: Sequence[int], compressed: Any, plain: Any, values: Any) -> Any:
    p = coo.parts(t)
    return _core.sparse_tensor(p.layout, size, compressed, plain, values, 2, p.dense_dim, False)


from shim_torch._impl.sparse.compressed_construct import (  # noqa: E402
    construct,
    empty_like,
    resize_,
    resize_as,
    with_dims,
    zeros,
    zeros_like,
)
from shim_torch._impl.sparse.compressed_ops import (  # noqa: E402
    add,
    add_dense,
    check_sampled,
    select,
    sum_dim,
    times_dense,
    times_sparse,
    transpose,
)

__all__ = [
    "construct",
    "empty_like",
    "resize_",
    "resize_as",
    "with_dims",
    "zeros",
    "zeros_like",
    "add",
    "add_dense",
    "check_sampled",
    "select",
    "sum_dim",
    "times_dense",
    "times_sparse",
    "transpose",
]
