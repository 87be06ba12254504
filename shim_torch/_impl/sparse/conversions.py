"""From one layout to another, and the entries that another tensor's pattern picks."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo
from shim_torch._impl.table.calls import torch

COMPRESSED = (_core.sparse_csr, _core.sparse_csc, _core.sparse_bsr, _core.sparse_bsc)


def same_coo(t: Any, sparse_dim: int) -> Any:
    """``to_sparse(sparse_dim)`` of a COO tensor: itself."""
    if sparse_dim != t.sparse_dim():
        raise RuntimeError(
            "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"
        )
    return t


def is_there(name: str, t: Any, layout: Any, blocksize: Any, dense_dim: Any) -> bool:
    """Whether the tensor has the layout already; RuntimeError for arguments that fit no layout."""
    to = layout if layout is not None else _core.sparse_coo
    source = coo.word(t)
    if blocksize is not None and len(blocksize) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    blocked = to in (_core.sparse_bsr, _core.sparse_bsc)
    if blocksize is not None and not blocked and t.layout == _core.strided:
        raise RuntimeError(
            f"{name}: conversion from {source} to {coo.word(to)} with blocksize argument given is not supported"
        )
    if to == t.layout == _core.strided:
        return True
    if to == _core.strided:
        raise RuntimeError(
            f"{name}: conversion from {source} to Strided with dense_dim argument given is not supported"
            if dense_dim is not None
            else f"{name}: conversion from {source} to Strided is not supported"
        )
    if t.layout == to and dense_dim is not None and t.layout != _core.strided:
        raise RuntimeError(
            f"{name}: conversion from {source} to {coo.word(to)} with dense_dim argument given is not supported"
        )
    if t.layout == to and blocked and blocksize is not None:
        from shim_torch._impl.sparse import compressed

        return tuple(blocksize) == compressed.blocksize(t)
    return bool(t.layout == to)


def to_coo(t: Any, sparse_dim: Any = None) -> Any:
    """The coalesced COO tensor: of a dense tensor its nonzero entries, with the trailing dims dense."""
    if t.layout in COMPRESSED:
        from shim_torch._impl.sparse import compressed

        if sparse_dim is not None and sparse_dim != t.sparse_dim() + t.dim() - t.dense_dim() - t.sparse_dim():
            raise RuntimeError(
                f"sparse_compressed_to_sparse: conversion from {coo.word(t)} to Sparse with sparse_dim argument !=2 is not "
                "supported"
            )
        return compressed.to_coo(t)
    n = t.dim()
    k = n if sparse_dim is None else sparse_dim
    if n > 0 and k == 0:
        raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    if not 0 <= k <= n:
        raise RuntimeError(f"dense_to_sparse: sparse_dim argument must be in [0,{n}] range, but {k} is given")
    if n == 0:
        there = t.reshape(1).nonzero().shape[0]
        indices = torch.empty((0, there), dtype=_core.int64, device=t.device)
        return coo.make(indices, t.reshape(1)[:there].clone(), (), True)
    filled = t != 0
    rest = filled.flatten(k).any(-1) if k < n else filled
    indices = rest.nonzero().t().contiguous()
    return coo.make(indices, t[tuple(indices)], t.shape, True)


def to_layout(t: Any, layout: Any, blocksize: Any, dense_dim: Any) -> Any:
    """``to_sparse(layout=...)``."""
    to = layout if layout is not None else _core.sparse_coo
    if to == _core.sparse_coo:
        if dense_dim is not None and t.layout == _core.strided:
            return to_coo(t, t.dim() - dense_dim)
        return to_coo(t)
    from shim_torch._impl.sparse.compressed_conversions import from_any

    return from_any(t, to, blocksize, dense_dim)


def mask(t: Any, pattern: Any) -> Any:
    """The entries of ``t`` at the pattern of a sparse tensor; zero where ``t`` has none."""
    if pattern.layout == _core.strided:
        coo.raw_part(pattern, "sparse_mask")
    if t.shape != pattern.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(t.shape)} but mask has size "
            f"{list(pattern.shape)}"
        )
    if pattern.layout != _core.sparse_coo:
        from shim_torch._impl.sparse import compressed

        return compressed.mask(t, pattern)
    p = coo.parts(pattern)
    if t is pattern:
        return t
    if t.layout == _core.strided:
        values = t[tuple(p.indices)] if p.sparse_dim else t.unsqueeze(0).expand(p.values.shape).clone()
        return coo.make(p.indices.clone(), values, t.shape, p.coalesced)
    return coo.make(p.indices.clone(), values_at(t, p.indices, p.sparse_dim), t.shape, p.coalesced)


def projected(t: Any, pattern: Any, count: bool) -> Any:
    """The entries of ``t``, zero where ``pattern`` has none; ``count``: times the number of the pattern's entries there."""
    name = "_sparse_mask_projection"
    p, q = coo.raw_part(t, name), coo.raw_part(pattern, name)
    if t.shape != pattern.shape:
        raise RuntimeError(
            f"{name}(): operands have incompatible sizes; self has size {list(t.shape)} but mask has size "
            f"{list(pattern.shape)}"
        )
    if p.sparse_dim != q.sparse_dim:
        raise RuntimeError(
            f"{name}(): the number of sparse dimensions in `self` should match that of the `mask`. Got "
            f"`self.sparse_dim() == {p.sparse_dim}` != `mask.sparse_dim() == {q.sparse_dim}`."
        )
    size = t.shape[: p.sparse_dim]
    same = coo.flat(p.indices, size).unsqueeze(1) == coo.flat(q.indices, size)
    times = same.sum(1) if count else same.any(1)
    values = p.values * times.to(p.values.dtype).reshape(-1, *[1] * (p.values.dim() - 1))
    return coo.make(p.indices.clone(), values, t.shape, p.coalesced)


def values_at(t: Any, indices: Any, sparse_dim: int) -> Any:
    """The rows of a sparse tensor at (sparse_dim, n) indices; zeros where it has no entry."""
    if t.layout != _core.sparse_coo:
        t = to_coo(t)
    t = t if coo.parts(t).coalesced else coo.coalesce(t)
    p = coo.parts(t)
    count = indices.shape[1]
    if p.sparse_dim != sparse_dim:
        if p.sparse_dim > sparse_dim and sparse_dim:
            return coo.to_dense(t)[tuple(indices)]
        raise RuntimeError(
            f"sparse_mask(): the number of sparse dimensions in `self` should match that of the `mask`. Got "
            f"`self.sparse_dim() == {p.sparse_dim}` != `mask.sparse_dim() == {sparse_dim}`."
        )
    if not p.values.shape[0]:
        return torch.zeros((count, *p.values.shape[1:]), dtype=t.dtype, device=t.device)
    size = t.shape[:sparse_dim]
    have, want = coo.flat(p.indices, size), coo.flat(indices, size)
    at = torch.searchsorted(have, want).clamp_(max=have.shape[0] - 1)
    values = p.values.index_select(0, at)
    missing = have.index_select(0, at) != want
    return values.masked_fill(missing.reshape(-1, *(1 for _ in values.shape[1:])), 0)
