"""select, slice and narrow: views, their gradients, what is refused."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_views_share_memory():
    x = torch.arange(12).view(3, 4)
    row, column, middle = x.select(0, 1), x.select(1, -1), x.narrow(1, 1, 2)
    assert (
        row.tolist() == [4, 5, 6, 7] and column.tolist() == [3, 7, 11] and middle.tolist() == [[1, 2], [5, 6], [9, 10]]
    )
    middle.zero_()
    assert x[1].tolist() == [4, 0, 0, 7] and row.tolist() == [4, 0, 0, 7]
    assert torch.ops.aten.slice(x, 1, 0, 9, 2).tolist() == x[:, ::2].tolist()
    assert torch.ops.aten.slice(x, 0, -2).shape == (2, 4)
    assert torch.narrow(x, 0, torch.tensor(1), 1).tolist() == [x[1].tolist()]


def test_gradients_are_zero_elsewhere():
    x = torch.ones(3, 4, requires_grad=True)
    (x.select(0, 1).sum() + 2 * x.narrow(1, 0, 1).sum() + 3 * x[::2, 3].sum()).backward()
    assert x.grad.tolist() == [[2, 0, 0, 3], [3, 1, 1, 1], [2, 0, 0, 3]]


def test_what_is_refused():
    x = torch.ones(2, 3)
    with pytest.raises(IndexError, match="index 2 out of range for tensor of size \\[2, 3\\] at dimension 0"):
        x.select(0, 2)
    with pytest.raises(RuntimeError, match="start \\(1\\) \\+ length \\(3\\) exceeds dimension size \\(3\\)"):
        x.narrow(1, 1, 3)
    with pytest.raises(RuntimeError, match="narrow\\(\\): length must be non-negative"):
        x.narrow(0, 0, -1)
