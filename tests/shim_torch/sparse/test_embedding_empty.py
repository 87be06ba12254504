"""Sparse gradients of tables without columns."""

from __future__ import annotations

import shim_torch as torch


def test_a_table_without_columns_has_a_sparse_gradient() -> None:
    table = torch.nn.Embedding(0, 0, sparse=True)
    table(torch.tensor([], dtype=torch.int64)).sum().backward()
    assert table.weight.grad.is_sparse and tuple(table.weight.grad.shape) == (0, 0)
    assert table.weight.grad._nnz() == 0
