"""Conversions to compressed layouts, from dense tensors and from every sparse layout."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.sparse.compressed import (
    BLOCKED,
    Entries,
    _blocks_of,
    _gathered,
    _spread,
    assemble,
    batch_dims,
    blocksize,
    entries,
)


def from_any(t: Any, layout: Any, block: Any, dense_dim: Any) -> Any:
    """``to_sparse(layout=...)`` for compressed layouts, from dense tensors and every sparse layout."""
    name = str(layout).rpartition("_")[2]
    source = "dense" if t.layout == _core.strided else "sparse_coo" if t.is_sparse else "sparse_compressed"
    where = f"{source}_to_sparse_{name}"
    if source == "sparse_compressed":
        _check_compressed_source(t, layout, block, dense_dim, name)
    if layout in BLOCKED:
        if block is None:
            own = blocksize(t) if t.layout in BLOCKED else None
            if own is None:
                where = "dense_to_sparse" if t.layout == _core.strided else "to_sparse"
                raise RuntimeError(
                    f"{where}: conversion from {coo.word(t)} to {coo.word(layout)} without blocksize argument given is not "
                    "supported"
                )
            block = own
        block = tuple(block)
    else:
        block = (1, 1)
    if t.layout == _core.strided:
        return _from_dense(t, layout, block, dense_dim or 0, where)
    if dense_dim is not None:
        raise RuntimeError(
            f"to_sparse: conversion from {coo.word(t)} to {coo.word(layout)} with dense_dim argument given is not supported"
        )
    if t.is_sparse:
        e, kind = _coo_entries(t, where), _core.int64
    else:
        e, kind = entries(t), coo.parts(t).indices.dtype
    if tuple(e.values.shape[1:3]) != block:
        e = _spread(e)
        _check_blocks((e.blocks[0], e.blocks[1]), block, where)
        e = _gathered(e, block) if block != (1, 1) else e
    return assemble(e, layout, kind, where)


def _check_compressed_source(t: Any, layout: Any, block: Any, dense_dim: Any, name: str) -> None:
    """Conversions that PyTorch has no kernel for."""
    source, to = coo.word(t), coo.word(layout)
    if dense_dim is not None:
        raise RuntimeError(
            f"to_sparse_{name}: conversion from {source} to {to} with dense_dim argument given is not supported"
        )
    if t.layout in BLOCKED and layout not in BLOCKED:
        raise RuntimeError(
            f"sparse_compressed_to_sparse_{name}: expected SparseCsr or SparseCsc layout but got {source}"
        )
    if t.layout in BLOCKED and block is not None and tuple(block) != blocksize(t):
        where = f"to_sparse_{name}" if t.layout == layout else f"sparse_compressed_to_sparse_{name}"
        raise RuntimeError(
            f"{where}: conversion from {source} to {to} with blocksize changed from {list(blocksize(t) or ())} to "
            f"{list(block)} is not supported"
        )
    if t.layout not in BLOCKED and layout in BLOCKED and batch_dims(t):
        raise RuntimeError(
            f"sparse_compressed_to_sparse_{name}: conversion from {source} to {to} for batched inputs is not supported"
        )


def _check_blocks(size: tuple[int, int], block: tuple[int, int], where: str) -> None:
    if block[0] <= 0 or block[1] <= 0:
        raise RuntimeError(f"{where}: blocksize needs to be a tuple of positive integers, but got {list(block)}")
    if size[0] % block[0] or size[1] % block[1]:
        raise RuntimeError(
            f"{where}: tensor sparse size ({size[0]},{size[1]}) must be divisible by given blocksize ({block[0]},{block[1]})"
        )


def _coo_entries(t: Any, where: str) -> Entries:
    p = coo.parts(coo.coalesce(t))
    if p.sparse_dim != 2:
        name = where.rpartition("_")[2]
        raise RuntimeError(
            f"coo_to_sparse_{name}: conversion from Sparse to Sparse{name.capitalize()} for input tensors with sparse_dim()!=2 is "
            "not supported"
        )
    values = p.values.reshape(-1, 1, 1, *t.shape[2:])
    batch = p.indices[0] * 0
    return Entries(batch, p.indices[0], p.indices[1], values, (t.shape[0], t.shape[1]), (), tuple(t.shape[2:]))


def _from_dense(t: Any, layout: Any, block: tuple[int, int], dense: int, where: str) -> Any:
    if t.dim() < 2 + dense:
        raise RuntimeError(
            f"{where}: expected tensor with ndim >= 2 + dense_dim, got {t.dim()}-d"
            if dense
            else f"to_sparse: conversion from Strided to {coo.word(layout)} for {t.dim()}-D tensors is not supported"
        )
    base = t.dim() - dense
    if not math.prod(t.shape[: base - 2]):
        name = where.rpartition("_")[2]
        raise RuntimeError(f"to_sparse_{name}: Expected product of batch dimensions to be non-zero.")
    _check_blocks((t.shape[base - 2], t.shape[base - 1]), block, where)
    blocks = _blocks_of(t, block, dense)
    filled = (blocks != 0).flatten(3).any(-1)
    batch, row, column = filled.nonzero().unbind(1)
    e = Entries(
        batch, row, column, blocks[batch, row, column], tuple(filled.shape[1:]), tuple(t.shape[: base - 2]),
        tuple(t.shape[base:]),
    )  # fmt: skip
    return assemble(e, layout, None, "dense_to_sparse_compressed")
