"""Grids of coordinates, and all combinations of elements."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.calls import torch
from shim_torch._impl.table.record import composite

_HIDDEN: dict[str, Any] = {"function": False, "method": False}


def _grids(tensors: Any, indexing: str) -> Any:
    """Grids of coordinates, the first along the rows ("ij") or the columns ("xy")."""
    given = list(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for t in given:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t}")
        for what in ("dtype", "device"):
            if getattr(t, what) != getattr(given[0], what):
                raise RuntimeError(f"meshgrid expects all tensors to have the same {what}")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[0], given[1] = given[1], given[0]
    shape = [t.numel() for t in given]
    grids = [t.reshape([-1 if i == k else 1 for i in range(len(given))]).expand(shape) for k, t in enumerate(given)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return grids


@composite("meshgrid(Tensor[] tensors) -> Tensor[]", **_HIDDEN)
def meshgrid(tensors):
    """Grids of coordinates, one a tensor: grid k, a view, holds the elements of tensor k along dim k.

    Shapes:  1-d (or 0-d) tensors of n1, n2, ... elements -> each (n1, n2, ...), with ``indexing="xy"`` (n2, n1, ...)
    Errors:  RuntimeError for no tensor, more dims, or different dtypes or devices
    """
    return _grids(tensors, "ij")


@composite("meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", **_HIDDEN)
def meshgrid_indexing(tensors, indexing):
    """Grids of coordinates, the first along the rows (``indexing="ij"``) or along the columns (``"xy"``)."""
    return _grids(tensors, indexing)


@composite("cartesian_prod(Tensor[] tensors) -> Tensor", **_HIDDEN)
def cartesian_prod(tensors):
    """All combinations of one element each."""
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([g.reshape(-1) for g in _grids(tensors, "ij")], 1)
