"""Margins between classes: values by hand, gradients."""

from __future__ import annotations

import pytest

import shim_torch as torch

F = torch.nn.functional


def test_one_class_a_row():
    x = torch.tensor([[0.1, 0.2, 0.9], [0.5, 0.4, 0.0]], dtype=torch.float64)
    t = torch.tensor([2, 0])
    each = [(0.2 + 0.3) / 3, (0.9 + 0.5) / 3]
    assert F.multi_margin_loss(x, t, reduction="none").tolist() == pytest.approx(each)
    assert F.multi_margin_loss(x, t).item() == pytest.approx(sum(each) / 2)
    squares = (0.2**2 + 0.3**2) / 3
    assert F.multi_margin_loss(x[:1], t[:1], p=2).item() == pytest.approx(squares)
    weight = torch.tensor([1.0, 1.0, 10.0], dtype=torch.float64)
    assert F.multi_margin_loss(x, t, weight=weight, reduction="sum").item() == pytest.approx(10 * each[0] + each[1])


def test_several_classes_a_row():
    x = torch.tensor([[0.1, 0.2, 0.4, 0.8]], dtype=torch.float64)
    t = torch.tensor([[3, 0, -1, 1]])  # 3 and 0, up to the first negative one
    expected = ((1 - (0.8 - 0.2)) + (1 - (0.8 - 0.4)) + (1 - (0.1 - 0.2)) + (1 - (0.1 - 0.4))) / 4
    assert F.multilabel_margin_loss(x, t).item() == pytest.approx(expected)


def test_gradients():
    x = torch.tensor([[0.1, 0.2, 0.9]], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(F.multi_margin_loss(x, torch.tensor([2])), x)
    torch.testing.assert_close(g, torch.tensor([[1.0, 1.0, -2.0]], dtype=torch.float64) / 3)
    (g,) = torch.autograd.grad(F.multilabel_margin_loss(x, torch.tensor([[2, -1, 0]])), x)
    torch.testing.assert_close(g, torch.tensor([[1.0, 1.0, -2.0]], dtype=torch.float64) / 3)


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="target out of range"):
        F.multi_margin_loss(torch.ones(1, 3), torch.tensor([3]))
    with pytest.raises(ValueError, match="only p == 1 and p == 2 supported"):
        F.multi_margin_loss(torch.ones(1, 3), torch.tensor([0]), p=3)
