"""torch.meshgrid, cartesian_prod, and their operators in torch.ops.aten."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_grids_by_rows_and_columns():
    x, y = torch.arange(2), torch.arange(10, 13)
    rows, columns = torch.meshgrid(x, y, indexing="ij")
    assert rows.tolist() == [[0, 0, 0], [1, 1, 1]] and columns.tolist() == [[10, 11, 12]] * 2
    across, down = torch.meshgrid(x, y, indexing="xy")
    assert across.tolist() == [[0, 1]] * 3 and down.tolist() == [[10, 10], [11, 11], [12, 12]]
    assert [g.tolist() for g in torch.ops.aten.meshgrid([x, y])] == [rows.tolist(), columns.tolist()]
    assert [g.tolist() for g in torch.ops.aten.meshgrid.indexing([x, y], indexing="xy")] == [
        across.tolist(),
        down.tolist(),
    ]


def test_gradients_of_grids_are_sums():
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    a, b = torch.meshgrid(x, y, indexing="ij")
    (a * 2 + b).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0] and y.grad.tolist() == [2.0, 2.0, 2.0]


def test_all_combinations():
    x, y = torch.tensor([1, 2]), torch.tensor([5, 6])
    assert torch.cartesian_prod(x, y).tolist() == [[1, 5], [1, 6], [2, 5], [2, 6]]
    assert torch.cartesian_prod(x) is x or torch.cartesian_prod(x).tolist() == [1, 2]
    assert torch.ops.aten.cartesian_prod([x, y]).tolist() == torch.cartesian_prod(x, y).tolist()


@pytest.mark.parametrize(
    ("run", "kind", "text"),
    [
        (lambda: torch.meshgrid([], indexing="ij"), RuntimeError, "meshgrid expects a non-empty TensorList"),
        (
            lambda: torch.meshgrid(torch.ones(2), indexing="xx"),
            RuntimeError,
            'indexing must be one of "xy" or "ij", but received: xx',
        ),
        (
            lambda: torch.meshgrid(torch.ones(2, 2), indexing="ij"),
            RuntimeError,
            "Expected 0D or 1D tensor in the tensor list",
        ),
        (
            lambda: torch.meshgrid(torch.ones(2), torch.ones(2).long(), indexing="ij"),
            RuntimeError,
            "all tensors to have the same dtype",
        ),
        (
            lambda: torch.meshgrid(torch.ones(2), 3, indexing="ij"),
            TypeError,
            "expected Tensor as element 1 in argument 0, but got int",
        ),
        (
            lambda: torch.cartesian_prod(torch.ones(2), 3),
            TypeError,
            "expected Tensor as element 1 in argument 0, but got int",
        ),
        (lambda: torch.cartesian_prod(torch.ones(2, 2)), RuntimeError, r"Expect a 1D vector, but got shape \[2, 2\]"),
    ],
)
def test_what_is_refused(run, kind, text):
    with pytest.raises(kind, match=text):
        run()
