"""Masked reductions of sparse tensors: over the entries that the mask has, those that the tensor lacks being zero."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.masked.filling import limit
from shim_torch._impl.native import _core
from shim_torch._impl.sparse import conversions, coo
from shim_torch._impl.table.calls import torch

_OF_SPARSE = ("sum", "prod", "amax", "amin")  # reductions of torch.masked


def of_sparse(name: str) -> bool:
    """Whether the function of torch.masked reduces sparse tensors."""
    return name in _OF_SPARSE or name == "mean"


def _refuse(name: str, input: Any, mask: Any, keepdim: bool) -> None:
    if not of_sparse(name):
        word = {"var": "std/var", "std": "std/var"}.get(name, name)
        raise ValueError(f"masked {word} expects strided tensor (got {input.layout} tensor)")
    if input.layout not in (_core.sparse_coo, _core.sparse_csr) or (name == "mean" and input.is_sparse):
        kinds = "strided or sparse_csr" if name == "mean" else "strided, sparse_coo or sparse_csr"
        raise ValueError(f"masked {name} expects {kinds} tensor (got {input.layout} tensor)")
    if mask is None and name != "sum":
        word = "amax" if name == "amin" and input.is_sparse else name
        raise ValueError(f"masked {word} expects explicit mask for {str(input.layout)[6:]} tensor input")
    if input.layout == _core.sparse_csr and not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")


def _entries(input: Any, mask: Any) -> tuple[Any, Any]:
    """(sparse_dim, n) indices and (n, ...) values of what takes part."""
    whole = input if input.is_sparse else conversions.to_coo(input)
    whole = whole.coalesce()
    p = coo.parts(whole.detach() if whole.requires_grad else whole)
    if mask is None:
        return p.indices, whole.values()
    if mask.dtype != _core.bool:
        mask = mask.to(_core.bool)
    if mask.layout != _core.strided and mask.shape != input.shape:  # a sparse mask is broadcast as a strided one is
        mask = mask.to_dense()
    if mask.layout == _core.strided:
        mask = mask.expand(tuple(input.shape))
        pattern = conversions.to_coo(mask, p.sparse_dim)
    else:
        pattern = conversions.to_coo(mask) if not mask.is_sparse else mask.coalesce()
    q = coo.parts(pattern)
    if p.dense_dim or q.dense_dim:
        raise NotImplementedError("masked reductions of hybrid sparse tensors are not supported by shim-torch")
    indices = q.indices.index_select(1, q.values.nonzero().squeeze(1))
    return indices, conversions.values_at(whole, indices, p.sparse_dim)


def _grouped(values: Any, group: Any, count: int, name: str) -> Any:
    if name == "sum":
        return coo.sum_rows(values, group, count)
    spread = group.reshape(-1, *(1 for _ in values.shape[1:])).expand(values.shape)
    zeros = values.new_zeros((count, *values.shape[1:]))
    return torch.scatter_reduce(zeros, 0, spread, values, name, include_self=False)


def reduced(name: str, input: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any, mask: Any) -> Any:
    """The reduction as a tensor of the same layout. Errors: ValueError where PyTorch has none for the layout."""

    _refuse(name, input, mask, keepdim)
    dims = tuple(d % input.dim() for d in dims) if dims and input.dim() else tuple(range(input.dim()))
    if dtype is None and name in ("sum", "prod") and not (input.is_floating_point() or input.is_complex()):
        dtype = _core.int64
    indices, values = _entries(input, mask)
    values = values if dtype is None else values.to(dtype)
    if name == "mean":
        return _mean(input, indices, values, dims)
    n = indices.shape[0]
    dense = [d - n + 1 for d in dims if d >= n]
    if dense:
        values = values.prod(dense[0]) if name == "prod" else getattr(values, name)(dense)
    gone = [d for d in dims if d < n]
    size = [1 if d in dims else k for d, k in enumerate(input.shape)]
    if len(gone) == n and input.is_sparse:
        if name in ("amax", "amin") and not values.shape[0]:  # nothing takes part: the least, or greatest, of the dtype
            values = values.new_full((1, *values.shape[1:]), limit(name, values, -1 if name == "amax" else 1))
        whole = values.amax(0) if name == "amax" else values.amin(0) if name == "amin" else getattr(values, name)(0)
        return whole.reshape(size if keepdim else [k for d, k in enumerate(size) if d not in dims]).to_sparse()
    made = _made(name, indices, values, size, gone)
    if input.layout == _core.sparse_csr:
        return made.to_sparse_csr()
    if keepdim:
        return made
    p = coo.parts(made)
    left = [d for d in range(n) if d not in gone]
    return coo.make(p.indices[left], p.values, [k for d, k in enumerate(size) if d not in dims], True)


def _made(name: str, indices: Any, values: Any, size: list[int], gone: list[int]) -> Any:
    """The COO tensor with the reduced dims of size 1."""
    from shim_torch._impl.tensor.distinct import unique

    moved = indices.clone()
    for d in gone:
        moved[d] = 0
    n = indices.shape[0]
    place, group = unique(coo.flat(moved, size[:n]), return_inverse=True)
    result = _grouped(values, group, place.shape[0], name)
    return coo.make(coo.unflat(place, size[:n]), result, size, True)


def _mean(input: Any, indices: Any, values: Any, dims: tuple[int, ...]) -> Any:
    if not (values.is_floating_point() or values.is_complex()):
        values = values.to(_core.get_default_dtype())
    size = [1 if d in dims else k for d, k in enumerate(input.shape)]
    total = _made("sum", indices, values, size, list(dims))
    count = _made("sum", indices, torch.ones_like(values), size, list(dims))
    return coo.with_values(total, coo.parts(total).values / coo.parts(count).values).to_sparse_csr()
