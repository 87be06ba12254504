"""Sparse tensors of their parts: values, and what is refused of parts that do not fit."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_coordinates():
    t = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1.0, 2.0, 3.0], (2, 3))
    assert t.to_dense().tolist() == [[0, 0, 1], [5, 0, 0]] and not t.is_coalesced()
    empty = torch.ops.aten._sparse_coo_tensor_with_dims(
        1, 1, [3, 2], dtype=torch.float32, layout=torch.sparse_coo, device="cpu"
    )
    assert empty._nnz() == 0 and empty.sparse_dim() == 1 and empty.dense_dim() == 1


def test_compressed_rows_and_columns():
    rows = torch.sparse_csr_tensor([0, 1, 2], [1, 0], [5.0, 6.0], (2, 2))
    assert rows.to_dense().tolist() == [[0, 5], [6, 0]]
    columns = torch.sparse_csc_tensor([0, 1, 2], [1, 0], [5.0, 6.0], (2, 2))
    assert columns.to_dense().tolist() == [[0, 6], [5, 0]]


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (
            lambda: torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (2,)),
            "size is inconsistent with indices: for dim 0, size is 2 but found index 2",
        ),
        (lambda: torch.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (2,)), "found negative index -1 for dim 0"),
        (
            lambda: torch.sparse_csr_tensor([1, 1, 2], [1, 0], [5.0, 6.0], (2, 2)),
            "crow_indices\\[..., 0\\] == 0|crow_indices",
        ),
    ],
)
def test_what_is_refused(run, text):
    with torch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match=text):
        run()
