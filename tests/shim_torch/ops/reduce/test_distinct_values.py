"""unique and its like: values, where they came from, counts, along a dim; unravel_index."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_values_places_and_counts():
    x = torch.tensor([3, 1, 3, 2])
    assert torch.unique(x).tolist() == [1, 2, 3] and x.unique().tolist() == [1, 2, 3]
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    assert values[inverse].tolist() == x.tolist() and counts.tolist() == [1, 1, 2]


def test_along_a_dim():
    x = torch.tensor([[1, 2], [0, 5], [1, 2]])
    values, inverse, counts = torch.unique(x, dim=0, return_inverse=True, return_counts=True)
    assert values.tolist() == [[0, 5], [1, 2]] and inverse.tolist() == [1, 0, 1] and counts.tolist() == [1, 2]
    assert torch.unique(x, dim=1).tolist() == x.tolist()


def test_runs():
    x = torch.tensor([1, 1, 2, 1])
    values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 1] and inverse.tolist() == [0, 0, 1, 2] and counts.tolist() == [2, 1, 1]
    rows = torch.tensor([[1, 2], [1, 2], [3, 4]])
    assert torch.unique_consecutive(rows, dim=0).tolist() == [[1, 2], [3, 4]]
    assert torch.unique(torch.empty(0)).shape == (0,)


def test_indices_unravelled():
    rows, columns = torch.unravel_index(torch.tensor([0, 5, 7]), (3, 4))
    assert rows.tolist() == [0, 1, 1] and columns.tolist() == [0, 1, 3]
    with pytest.raises(TypeError, match="expected 'indices' to be integer dtype"):
        torch.unravel_index(torch.ones(1), (2,))
    with pytest.raises(ValueError, match="'shape' cannot have negative values"):
        torch.unravel_index(torch.tensor([0]), (-2,))


def test_an_operator_without_formulas_has_a_node_of_its_own():
    found = torch.bincount(torch.tensor([0, 2, 2]), weights=torch.ones(3, requires_grad=True))
    assert found.grad_fn.name() == "torch::autograd::NotImplemented"
    with pytest.raises(RuntimeError, match="^derivative for aten::bincount is not implemented$"):
        found.sum().backward()


@pytest.mark.parametrize(
    "function, node, name",
    [
        (torch.unique, "Unique2Backward0", "_unique2"),
        (lambda x: torch.unique(x, dim=0), "UniqueDimBackward0", "unique_dim"),
        (torch.unique_consecutive, "UniqueConsecutiveBackward0", "unique_consecutive"),
        (lambda x: torch.geqrf(x[:, None])[0], "GeqrfBackward0", "geqrf"),
    ],
    ids=["unique", "unique_dim", "unique_consecutive", "geqrf"],
)
def test_nodes_without_a_derivative_are_called_as_pytorchs(function, node, name):
    found = function(torch.ones(2, requires_grad=True))
    assert found.grad_fn.name() == node
    with pytest.raises(NotImplementedError, match=f"^the derivative for '{name}' is not implemented.$"):
        found.sum().backward()
