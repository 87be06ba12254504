"""The multi-label margin loss: the operator of one kernel is the loss, and a gap of nothing has no slope."""

import pytest

import shim_torch as torch

F = torch.nn.functional


@pytest.mark.parametrize("number, reduction", enumerate(("none", "mean", "sum")))
def test_operator_is_the_loss(number, reduction):
    torch.manual_seed(0)
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    y = torch.randint(-1, 7, (5, 7))
    y[0], y[1], y[2, :4] = -1, torch.arange(7), torch.tensor([3, 3, 1, -1])
    found = [F.multilabel_margin_loss(x, y, reduction=reduction), torch.ops.shim.multilabel_margin_loss(x, y, number)]
    g = torch.randn(found[0].shape, dtype=torch.float64)
    torch.testing.assert_close(*found)
    torch.testing.assert_close(*(torch.autograd.grad(loss, x, g) for loss in found))
    assert torch.autograd.gradcheck(lambda v: torch.ops.shim.multilabel_margin_loss(v, y, number), x)
    assert torch.autograd.gradgradcheck(lambda v: torch.ops.shim.multilabel_margin_loss(v, y, number), x)


def test_no_slope_where_the_gap_is_zero():
    x = torch.tensor([[1.0, 0.0, 2.0]], requires_grad=True)
    loss = F.multilabel_margin_loss(x, torch.tensor([[0, -1, 0]]))
    assert torch.equal(torch.autograd.grad(loss, x)[0], torch.tensor([[-1 / 3, 0.0, 1 / 3]]))
    loss = F.multi_margin_loss(x, torch.tensor([0]))
    assert torch.equal(torch.autograd.grad(loss, x)[0], torch.tensor([[-1 / 3, 0.0, 1 / 3]]))
