"""Gradients of lookups as COO tensors: one entry a row or index looked up, not summed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse.coo import unsafe
from shim_torch._impl.table.calls import torch


def embedding_gradient(g: Any, size: Sequence[int], index: Any, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    """The gradient of rows looked up in a table: one entry a lookup, not summed."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    rows, flat_index = g.reshape(index.numel(), size[1]), index.reshape(-1)
    if padding_idx >= 0:
        kept = (flat_index != padding_idx).nonzero().squeeze(1)
        rows, flat_index = rows.index_select(0, kept), flat_index.index_select(0, kept)
    else:
        flat_index = flat_index.clone()  # the caller may change what it looked up
    return unsafe(flat_index.to(_core.int64).reshape(1, -1), rows, tuple(size))


def gather_gradient(g: Any, size: Sequence[int], dim: int, index: Any) -> Any:
    """The gradient of ``gather``: one entry an index, not summed."""
    n = len(size)
    if n == 0:
        return unsafe(index.new_empty((0, g.numel())), g.reshape(-1), tuple(size))
    if g.dim() == 0:
        return unsafe(index.reshape(1, 1), g.reshape(1), tuple(size))
    d = dim % n
    rows = []
    for k, length in enumerate(index.shape):
        along = torch.arange(length, device=index.device).reshape([-1 if i == k else 1 for i in range(n)])
        rows.append((index.to(_core.int64) if k == d else along.expand(index.shape)).reshape(-1))
    return unsafe(torch.stack(rows), g.reshape(-1), tuple(size))
