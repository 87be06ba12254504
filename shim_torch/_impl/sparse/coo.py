"""Coordinate (COO) tensors: their parts, sorted and unique entries, and the dense tensor of them.

``indices`` is (sparse_dim, nnz) int64, ``values`` (nnz, *dense sizes). Functions here know no gradients: they are run
without history, by the records of ``shim_torch._impl.records.sparse.parts`` and the kernels beside this file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch

_INT64_MAX = 2**63 - 1


class Parts(NamedTuple):
    """What a sparse tensor is made of; ``plain`` only where the layout is compressed."""

    layout: Any
    indices: Any
    plain: Any
    values: Any
    sparse_dim: int
    dense_dim: int
    coalesced: bool


def word(t: Any) -> str:
    """PyTorch's word for a layout: Strided, Sparse, SparseCsr."""
    kind = str(t.layout if isinstance(t, _core.TensorBase) else t).rpartition(".")[2]
    return {"strided": "Strided", "sparse_coo": "Sparse"}.get(kind, "Sparse" + kind[-3:].capitalize())


def parts(t: Any) -> Parts:
    """The parts of a sparse tensor."""
    found = _core.sparse_parts(t)
    if found is None:
        raise RuntimeError(f"expected a sparse tensor, but got a tensor of layout {t.layout}")
    return Parts(*found)


def make(indices: Any, values: Any, size: Sequence[int], coalesced: bool = False) -> Any:
    """The tensor of these entries; nothing is checked."""
    n = indices.shape[0]
    return _core.sparse_tensor(_core.sparse_coo, size, indices, None, values, n, len(size) - n, coalesced)


def with_values(t: Any, values: Any, coalesced: bool | None = None) -> Any:
    """The tensor of the same pattern, of any sparse layout, with other values (of the same or another dtype)."""
    p = parts(t)
    flag = p.coalesced if coalesced is None else coalesced
    made = _core.sparse_tensor(p.layout, t.shape, p.indices, p.plain, values, p.sparse_dim, p.dense_dim, False)
    return _core.set_coalesced(made, flag)


def of_dtype(t: Any, dtype: Any) -> Any:
    """The tensor, of any sparse layout, with its values in ``dtype``."""
    return t if t.dtype == dtype else with_values(t, parts(t).values.to(dtype))


def empty(size: Sequence[int], sparse_dim: int, dense_dim: int, dtype: Any = None, device: Any = None) -> Any:
    """A tensor without entries."""
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    check_size(size)
    indices = _core.empty_tensor((sparse_dim, 0), _core.int64, device)
    values = _core.empty_tensor((0, *size[sparse_dim:]), dtype, device)
    return _core.sparse_tensor(_core.sparse_coo, size, indices, None, values, sparse_dim, dense_dim, True)


def check_size(size: Sequence[int]) -> None:
    """RuntimeError for sizes that no tensor has."""
    if any(n < 0 for n in size) and 0 not in size:
        if len(size) == 1:
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
        raise RuntimeError("numel: integer multiplication overflow")
    if math.prod(size) > _INT64_MAX:
        raise RuntimeError("numel: integer multiplication overflow")


def unsafe(indices: Any, values: Any, size: Any, dtype: Any = None, device: Any = None, coalesced: Any = None) -> Any:
    """As ``torch.sparse_coo_tensor`` without checks; differentiable in the values."""
    if values.dim() == 0:
        values = values.expand(1).clone()
    n = indices.shape[0]
    return torch._sparse_coo_tensor_with_dims_and_tensors(
        n, values.dim() - 1, size, indices, values, dtype=dtype, device=device, is_coalesced=coalesced
    )


# --- the parts, asked for --------------------------------------------------------------------------------------------------


def sparse_dim(t: Any) -> int:
    """How many dims indices are kept for; 0 of a dense tensor."""
    found = _core.sparse_parts(t)
    return 0 if found is None else Parts(*found).sparse_dim


def dense_dim(t: Any) -> int:
    """How many dims lie in the values; all of a dense tensor's."""
    found = _core.sparse_parts(t)
    return t.dim() if found is None else Parts(*found).dense_dim


def raw_part(t: Any, name: str) -> Parts:
    """The parts of a COO tensor; for others the error of an operator without a kernel."""
    found = _core.sparse_parts(t)
    if found is None or found[0] != _core.sparse_coo:
        from shim_torch._impl.sparse.dispatch import could_not_run

        where = {"cuda": "CUDA", "meta": "Meta"}.get(t.device.type, "CPU")
        raise NotImplementedError(could_not_run(f"aten::{name}", where if found is None else f"SparseCsr{where}"))
    return Parts(*found)


def nnz(t: Any) -> int:
    """How many entries (blocks, of a blocked layout) one batch has."""
    found = _core.sparse_parts(t)
    if found is None:
        raw_part(t, "_nnz")
    p = Parts(*found)
    if p.layout == _core.sparse_coo:
        return p.values.shape[0]
    return p.plain.shape[-1]


def _expect_coo(t: Any, name: str) -> Parts:
    found = _core.sparse_parts(t)
    if found is None or found[0] != _core.sparse_coo:
        raise RuntimeError(f"{name} expected sparse coordinate tensor layout but got {word(t)}")
    return Parts(*found)


def is_coalesced(t: Any, name: str = "is_coalesced") -> bool:
    """Whether the entries are known to be sorted and of different places; RuntimeError unless COO."""
    return _expect_coo(t, name).coalesced


def indices(t: Any) -> Any:
    """The indices (sparse_dim, nnz), int64, of a coalesced COO tensor; RuntimeError for others."""
    p = _expect_coo(t, "indices")
    if not p.coalesced:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return p.indices


def values(t: Any) -> Any:
    """The values (nnz, *dense sizes) of a coalesced COO tensor, or a compressed one's; RuntimeError for others."""
    found = _core.sparse_parts(t)
    if found is None:
        raise RuntimeError(f"values expected sparse tensor layout but got {word(t)}")
    p = Parts(*found)
    if p.layout == _core.sparse_coo and not p.coalesced:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return p.values


def values_backward(g: Any, t: Any) -> Any:
    """The gradient of a tensor whose values have the gradient ``g``."""
    p = parts(t)
    if p.layout == _core.sparse_coo:
        return unsafe(p.indices, g, t.shape, coalesced=True)
    return torch._sparse_compressed_tensor_unsafe(p.indices, p.plain, g, t.shape, layout=p.layout)


# --- entries ---------------------------------------------------------------------------------------------------------------


def flat(index: Any, size: Sequence[int]) -> Any:
    """(sparse_dim, nnz) indices as places in the C order of ``size``: (nnz,)."""
    if index.shape[0] == 0:
        return torch.zeros(index.shape[1], dtype=_core.int64, device=index.device)
    place = index[0]
    for d in range(1, index.shape[0]):
        place = place * size[d] + index[d]
    return place


def unflat(place: Any, size: Sequence[int]) -> Any:
    """The inverse of ``flat``: (nnz,) places as (len(size), nnz) indices."""
    rows = []
    for n in reversed(size):
        rows.append(place % n)
        place = torch.div(place, n, rounding_mode="floor")
    if not rows:
        return torch.zeros((0, place.shape[0]), dtype=_core.int64, device=place.device)
    return torch.stack(rows[::-1])


def sum_rows(values: Any, place: Any, count: int) -> Any:
    """(count, ...): the rows of ``values`` summed by place; of bools, whether any is true."""
    if values.dtype == _core.bool:
        return sum_rows(values.to(_core.int64), place, count).to(_core.bool)
    made = torch.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
    if not values.numel():
        return made
    if values.is_cuda:  # in the order of the entries: the same sums in every run
        return made.index_put_((place,), values, accumulate=True)
    return made.index_add_(0, place, values)


def coalesce(t: Any) -> Any:
    """Entries sorted, those of one place summed."""
    from shim_torch._impl.tensor.distinct import unique

    p = parts(t)
    if p.coalesced or p.values.shape[0] < 2:
        return make(p.indices.clone(), p.values.clone(), t.shape, True)
    size = t.shape[: p.sparse_dim]
    place, inverse = unique(flat(p.indices, size), sorted=True, return_inverse=True)
    if place.shape[0] == p.values.shape[0]:  # no two meet: only the order changes
        order = torch.argsort(inverse)
        return make(p.indices.index_select(1, order), p.values.index_select(0, order), t.shape, True)
    return make(unflat(place, size), sum_rows(p.values, inverse, place.shape[0]), t.shape, True)


def to_dense(t: Any, dtype: Any = None) -> Any:
    """The strided tensor of a sparse one."""
    found = _core.sparse_parts(t)
    if found is None:
        return t if dtype is None else t.to(dtype)
    p = Parts(*found)
    if p.layout != _core.sparse_coo:
        from shim_torch._impl.sparse import compressed

        return compressed.to_dense(t, dtype)
    size = t.shape[: p.sparse_dim]
    values = p.values if dtype is None else p.values.to(dtype)
    made = sum_rows(values, flat(p.indices, size), math.prod(size))
    return made.reshape(t.shape)


# --- gradients of lookups --------------------------------------------------------------------------------------------------


# --- sizes -----------------------------------------------------------------------------------------------------------------

_OPTIONS = (
    "You could try the following options:\n1. If you need an empty sparse tensor of this size, call `x = "
    "torch.sparse_coo_tensor(size)`.\n2. If you need to resize this tensor, you have the following options:\n    1. For both "
    "sparse and dense dimensions, keep the number of them constant and the size of them non-shrinking, and then try the same "
    "call again.\n    2. Or, create a new sparse tensor with the correct indices and values from this sparse tensor."
)


def resize(t: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Any:
    """``sparse_resize_``: in place; a tensor with entries neither shrinks nor changes its numbers of dims."""
    p = raw_part(t, "sparse_resize_")
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    count = p.values.shape[0]
    if count:
        for kind, old, new in (("sparse", p.sparse_dim, sparse_dim), ("dense", p.dense_dim, dense_dim)):
            if old != new:
                raise RuntimeError(
                    f"changing the number of {kind} dimensions (from {old} to {new}) on a non-empty sparse tensor is not "
                    f"supported.\n{_OPTIONS}"
                )
        for kind, one, two in (
            ("sparse", t.shape[:sparse_dim], size[:sparse_dim]),
            ("dense", t.shape[sparse_dim:], size[sparse_dim:]),
        ):
            if any(b < a for a, b in zip(one, two, strict=True)):
                raise RuntimeError(
                    f"shrinking the size of {kind} dimensions (from {list(one)} to {list(two)}) on a non-empty sparse tensor is "
                    f"not supported.\n{_OPTIONS}"
                )
    values, index = p.values, p.indices
    if tuple(values.shape[1:]) != tuple(size[sparse_dim:]):
        grown = torch.zeros((count, *size[sparse_dim:]), dtype=values.dtype, device=values.device)
        if count:
            grown[tuple(slice(n) for n in values.shape)].copy_(values)
        values = grown
    if index.shape[0] != sparse_dim:
        index = torch.empty((sparse_dim, 0), dtype=_core.int64, device=index.device)
    return _core.replace_sparse(t, make(index, values, size, p.coalesced))


def resize_and_clear(t: Any, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Any:
    """``sparse_resize_and_clear_``: in place, without entries afterwards."""
    raw_part(t, "sparse_resize_and_clear_")
    return _core.replace_sparse(t, empty(size, sparse_dim, dense_dim, t.dtype, t.device))
