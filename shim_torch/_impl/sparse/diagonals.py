"""``torch.sparse.spdiags``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.calls import torch


def spdiags(diagonals: Any, offsets: Any, shape: Sequence[int], layout: Any = None) -> Any:
    """A matrix of ``shape`` whose diagonal number ``offsets[i]`` is row i of ``diagonals``, by columns."""
    from shim_torch._impl.sparse.construct import sparse_coo_tensor

    many = diagonals if diagonals.dim() == 2 else diagonals.unsqueeze(0)
    if diagonals.dim() not in (1, 2):
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    at = offsets if offsets.dim() == 1 else offsets.unsqueeze(0) if offsets.dim() == 0 else offsets
    if at.dim() != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if at.dtype != _core.int64:
        raise RuntimeError(
            f"Offset Tensor must have dtype Long but got {str(at.dtype).rpartition('.')[2].capitalize()}"
        )
    if many.shape[0] != at.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({many.shape[0]}) does not match the number of offsets ({at.shape[0]})"
        )
    if layout is not None and layout not in (_core.sparse_coo, _core.sparse_csc, _core.sparse_csr):
        raise RuntimeError("Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got " + str(layout))
    numbers = at.tolist()
    if len(set(numbers)) != len(numbers):
        raise RuntimeError("Offset tensor contains duplicate values")
    n_rows, n_columns = shape
    indices, values = [], []
    for i, k in enumerate(numbers):
        first = max(k, 0)
        last = min(n_columns, n_rows + k, many.shape[1])
        columns = torch.arange(first, max(last, first), device=many.device)
        indices.append(torch.stack([columns - k, columns]))
        values.append(many[i, first : max(last, first)])
    if not indices:
        made = sparse_coo_tensor((n_rows, n_columns), dtype=many.dtype, device=many.device)
    else:
        made = sparse_coo_tensor(torch.cat(indices, 1), torch.cat(values), (n_rows, n_columns))
    return made if layout is None or layout == _core.sparse_coo else made.to_sparse(layout=layout)
