"""Gradients that PyTorch does not differentiate again refuse it in its words; forward mode goes on."""

from __future__ import annotations

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

X = [[0.3, -1.2, 0.8], [1.1, 0.4, -0.6], [-0.2, 0.9, 0.5]]
BAGS = torch.tensor([[0, 1], [2, 2]])
TARGET = torch.tensor([0, 2, 1])

CASES = {
    "hardsigmoid_backward": F.hardsigmoid,
    "multi_margin_loss_backward": lambda x: F.multi_margin_loss(x, TARGET),
    "multilabel_margin_loss_backward": lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, -1, 1]] * 3)),
    "_segment_reduce_backward": lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([1, 2])),
    "_ctc_loss_backward": lambda x: F.ctc_loss(
        x.unsqueeze(1).log_softmax(-1), torch.tensor([[1]]), torch.tensor([3]), torch.tensor([1])
    ),
    "_cdist_backward": lambda x: torch.cdist(x, x + 1),
    "_pdist_backward": F.pdist,
    "_embedding_bag_backward": lambda x: F.embedding_bag(BAGS, x, mode="sum"),
    "_embedding_bag_per_sample_weights_backward": lambda x: F.embedding_bag(
        BAGS, x, mode="sum", per_sample_weights=torch.ones(2, 2)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_backward_through_the_gradient_refuses(name):
    x = torch.tensor(X, requires_grad=True)
    y = CASES[name](x)
    g = torch.ones_like(y).requires_grad_()
    (found,) = torch.autograd.grad(y, x, g, create_graph=True)
    (plain,) = torch.autograd.grad(CASES[name](x), x, torch.ones_like(y))
    assert found.requires_grad and torch.equal(found, plain)
    with pytest.raises(RuntimeError, match=f"derivative for .*{name}'? is not implemented"):
        torch.autograd.grad(found.sum(), g)


def test_distances_by_products_are_differentiated_twice():
    x = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[0.1, 0.2, 0.3]], dtype=torch.float64)
    assert torch.autograd.gradgradcheck(lambda x: torch.cdist(x, y, 2.0, "use_mm_for_euclid_dist"), (x,))


def test_tangents_pass():
    found = torch.func.jvp(F.hardsigmoid, (torch.tensor([0.5, 4.0]),), (torch.tensor([6.0, 1.0]),))[1]
    torch.testing.assert_close(found, torch.tensor([1.0, 0.0]))


def test_fractional_pools_are_flat():
    x = torch.rand(1, 2, 5, 5, requires_grad=True)
    (g,) = torch.autograd.grad(F.fractional_max_pool2d(x, 2, 3).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].eq(0).all()


@pytest.mark.parametrize(
    "call", [lambda t: F.leaky_relu_(t, -0.2), lambda t: F.elu_(t, -1.0), lambda t: F.celu_(t, -1.0)]
)
def test_changed_in_place_with_a_slope_below_zero(call):
    x = torch.ones(3, requires_grad=True)
    y = call(x * 1)
    with pytest.raises(RuntimeError, match="backward calculation is triggered with a negative slope"):
        y.sum().backward()
    F.leaky_relu_(x * 1, 0.2).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
