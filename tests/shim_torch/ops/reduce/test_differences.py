"""Differences and gradients along dims: beyond the length, spacings, infinities."""

import math

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import differences_cases as cases


def test_diff_beyond_the_length_is_empty():
    x = torch.tensor([[1, 4], [9, 16]])
    assert torch.diff(x, n=5).shape == (2, 0)
    assert torch.diff(x, dim=0, prepend=x[:1], append=x[:1]).tolist() == [[0, 0], [8, 12], [-8, -12]]
    with pytest.raises(RuntimeError, match="diff expects input to be at least one-dimensional"):
        torch.diff(torch.tensor(1))
    with pytest.raises(RuntimeError, match="order must be non-negative but got -1"):
        torch.diff(x, n=-1)
    with pytest.raises(RuntimeError, match="diff expects prepend or append to be the same dimension as input"):
        torch.diff(x, prepend=torch.tensor([1]))


@pytest.mark.parametrize("order", (1, 2))
def test_gradient_with_a_spacing_of_zero(order):
    x = torch.tensor([1.0, 5.0, 2.0, 7.0])
    assert torch.gradient(x, spacing=0, edge_order=order)[0].tolist()[::3] == [math.inf, math.inf]
    assert torch.gradient(torch.ones(4), spacing=[0.0], edge_order=order)[0].isnan().all()
    assert not torch.gradient(torch.ones(4), spacing=2, edge_order=order)[0].signbit().any()


def test_gradient_takes_infinities_from_the_neighbours_alone():
    (found,) = torch.gradient(torch.tensor([2.0, math.inf, 5.0, -math.inf]))
    assert found.tolist() == [math.inf, 1.5, -math.inf, -math.inf]
    (found,) = torch.gradient(torch.arange(3.0), spacing=2j)
    assert found.tolist() == [-0.5j] * 3
    with pytest.raises(RuntimeError, match="dim 0 appears multiple times in the list of dims"):
        torch.gradient(torch.ones(3, 3), dim=(0, 0))


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
