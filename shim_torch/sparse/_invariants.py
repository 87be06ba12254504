"""What must hold of the parts of a sparse tensor, in PyTorch's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from native import _core

enabled = False


def shape_of_entries(indices: Any, values: Any) -> None:
    """RuntimeError where indices and values cannot be of one COO tensor."""
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.layout != _core.strided:
        raise RuntimeError(f"expected indices to be a dense tensor, but got indices of layout {indices.layout}")
    if values.layout != _core.strided:
        raise RuntimeError(f"expected values to be a dense tensor, but got values of layout {values.layout}")


def check_shapes(indices: Any, values: Any, size: Sequence[int]) -> None:
    """What PyTorch always checks of a COO tensor with a given size."""
    shape_of_entries(indices, values)
    sparse_dim, dense_dim = indices.shape[0], values.dim() - 1
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    if indices.shape[1] != values.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: "
            f"{values.shape[0]}"
        )
    expected = [values.shape[0], *size[sparse_dim:]]
    if list(values.shape) != expected:
        raise RuntimeError(f"values has incorrect size, expected {expected}, got {list(values.shape)}")


def check_coo(indices: Any, values: Any, size: Sequence[int], is_coalesced: Any = None) -> None:
    """Everything that must hold of a COO tensor: the entries lie within the size; coalesced ones are sorted and unique."""
    if values.dim() == 0:
        values = values.expand(1)
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    sparse_dim, dense_dim = indices.shape[0], values.dim() - 1
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    if indices.device != values.device:
        raise RuntimeError(
            f"device of indices ({indices.device}) must match device of values ({values.device})"
        )
    if not indices.numel() or indices.is_meta:
        return
    low, high = indices.amin(1).tolist(), indices.amax(1).tolist()
    for d in range(sparse_dim):
        if low[d] < 0:
            raise RuntimeError(f"found negative index {low[d]} for dim {d}")
        if high[d] >= size[d]:
            raise RuntimeError(f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high[d]}")
    if is_coalesced and indices.shape[1] > 1:
        from . import _coo

        place = _coo.flat(indices.to(_core.int64), size)
        if not bool((place[1:] > place[:-1]).all()):
            raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")
