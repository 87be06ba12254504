"""Gradients of losses as operators: those that the engine finds."""

from __future__ import annotations

import pytest

import shim_torch as torch

F, ops = torch.nn.functional, torch.ops.aten


def test_margins():
    x = torch.tensor([[0.1, 0.2, 0.9], [0.5, 0.4, 0.0]], dtype=torch.float64, requires_grad=True)
    t = torch.tensor([2, 1])
    (expected,) = torch.autograd.grad(F.multi_margin_loss(x, t), x)
    g = torch.ones((), dtype=torch.float64)
    torch.testing.assert_close(ops.multi_margin_loss_backward(g, x.detach(), t, 1, 1, None, 1), expected)
    labels = torch.tensor([[2, -1, 0], [0, 1, -1]])
    (expected,) = torch.autograd.grad(F.multilabel_margin_loss(x, labels), x)
    loss, marks = ops.multilabel_margin_loss_forward(x.detach(), labels, 1)
    assert marks.tolist() == [[0, 0, 1], [1, 1, 0]]
    assert loss.item() == pytest.approx(F.multilabel_margin_loss(x, labels).item())
    torch.testing.assert_close(ops.multilabel_margin_loss_backward(g, x.detach(), labels, 1, marks), expected)


def test_classes_of_places():
    x = torch.randn(2, 3, 2, 2, dtype=torch.float64, requires_grad=True)
    t = torch.tensor([[[0, 1], [2, 0]], [[1, 1], [0, -100]]])
    loss, total = ops.nll_loss2d_forward(x.detach(), t, None, 1, -100)
    assert loss.item() == pytest.approx(F.nll_loss(x, t).item()) and total.item() == 7
    (expected,) = torch.autograd.grad(F.nll_loss(x, t), x)
    g = torch.ones((), dtype=torch.float64)
    torch.testing.assert_close(ops.nll_loss2d_backward(g, x.detach(), t, None, 1, -100, total), expected)
