"""Copies with a part replaced: values, gradients, what is refused."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_values():
    x, zeros = torch.arange(6.0).view(2, 3), torch.zeros
    assert torch.select_scatter(x, zeros(3), 0, 1).tolist() == [[0, 1, 2], [0, 0, 0]]
    assert torch.slice_scatter(x, zeros(2, 1), 1, 1, 2).tolist() == [[0, 0, 2], [3, 0, 5]]
    assert torch.diagonal_scatter(x, torch.tensor([7.0, 8.0])).tolist() == [[7, 1, 2], [3, 8, 5]]
    assert torch.as_strided_scatter(x, zeros(2), (2,), (2,), 1).tolist() == [[0, 0, 2], [0, 4, 5]]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_gradients_go_where_values_came_from():
    x, part = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    (torch.select_scatter(x, part, 0, 1) * torch.arange(6.0).view(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0, 1, 2], [0, 0, 0]] and part.grad.tolist() == [3, 4, 5]


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="expected src to have a size equal to the slice of self"):
        torch.select_scatter(torch.ones(2, 3), torch.ones(2), 0, 1)
    with pytest.raises(RuntimeError, match="expected src to have a size equal to the slice of self"):
        torch.slice_scatter(torch.ones(2, 3), torch.ones(2, 2), 1, 0, 1)
