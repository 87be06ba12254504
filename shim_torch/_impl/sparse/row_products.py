"""Products of a sparse and a dense matrix with sparse results: the rows that have entries."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.sparse import coo as _coo
from shim_torch._impl.sparse.dispatch import composite
from shim_torch._impl.sparse.products import _entries, product
from shim_torch._impl.table.calls import torch


@composite("sspaddmm")
def sspaddmm(self: Any, mat1: Any, mat2: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * self + alpha * mat1 @ mat2`` as a sparse tensor, of a sparse ``mat1`` and a dense ``mat2``."""
    made = sspmm(mat1, mat2)
    made = made if alpha == 1 else made * alpha
    return made if beta == 0 else (self if beta == 1 else self * beta) + made


def sspmm(mat1: Any, mat2: Any) -> Any:
    """Sparse times dense with a sparse result: every column of the rows that have entries."""
    from shim_torch._impl.sparse.dispatch import could_not_run

    if mat1.layout == _core.strided:
        raise NotImplementedError(could_not_run("aten::sspaddmm", "CPU"))
    whole = product(mat1, mat2)
    rows = _rows(mat1)
    return _spread(rows, whole.index_select(0, rows), whole.shape)


def _rows(t: Any) -> Any:
    from shim_torch._impl.tensor.distinct import unique

    return unique(_entries(t).indices[0])


def _spread(rows: Any, values: Any, size: Any) -> Any:
    n = size[1]
    columns = torch.arange(n, device=rows.device).repeat(rows.shape[0])
    indices = torch.stack([torch.repeat_interleave(rows, n), columns])
    return _coo.make(indices, values.reshape(-1), size, True)


def hspmm(mat1: Any, mat2: Any) -> Any:
    """Sparse times dense as a hybrid tensor: one sparse dim, the rows that have entries."""
    whole = product(mat1, mat2)
    rows = _rows(mat1)
    return _coo.make(rows.unsqueeze(0), whole.index_select(0, rows), whole.shape, True)
