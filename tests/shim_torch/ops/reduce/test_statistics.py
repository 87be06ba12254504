"""Integrals, covariance and combinations: values that PyTorch 2.13 gives."""

import pytest

import shim_torch as torch

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]


def test_trapezoid():
    y = torch.tensor([[1.0, 2.0, 4.0], [0.0, 1.0, 3.0]])
    assert torch.trapezoid(y).tolist() == [4.5, 2.5]
    assert torch.trapezoid(y, torch.tensor([0.0, 1.0, 3.0])).tolist() == [7.5, 4.5]
    assert torch.cumulative_trapezoid(y, dx=2).tolist() == [[3.0, 9.0], [1.0, 5.0]]


def test_vander_and_combinations():
    assert torch.vander(torch.tensor([1, 2, 3])).tolist() == [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    assert torch.combinations(torch.tensor([1, 2, 3])).tolist() == [[1, 2], [1, 3], [2, 3]]
    with pytest.raises(RuntimeError, match="x must be a one-dimensional tensor"):
        torch.vander(torch.zeros(2, 2))


def test_covariance():
    t = torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    assert t.cov().tolist() == [[1.0, -1.0], [-1.0, 1.0]]
    assert t.corrcoef().tolist() == [[1.0, -1.0], [-1.0, 1.0]]
    assert torch.cov(t, correction=0, fweights=torch.tensor([1, 2, 1])).tolist() == [[0.5, -0.5], [-0.5, 0.5]]
