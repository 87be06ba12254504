"""Gradients of binary cross entropy where a probability is exactly 0 or 1; the values are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch

P = [0.0, 1.0, 1.0, 0.0, 0.5]
Y = [0.0, 1.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_at_the_ends(create_graph):
    p = torch.tensor(P, dtype=torch.float64, requires_grad=True)
    loss = torch.nn.functional.binary_cross_entropy(p, torch.tensor(Y, dtype=torch.float64), reduction="sum")
    assert loss.item() == pytest.approx(200.69314718055995)
    (grad,) = torch.autograd.grad(loss, p, create_graph=create_graph)
    assert grad.tolist() == pytest.approx([0.0, 0.0, 1e12, -1e12, -2.0])


def test_gradients_within():
    p = torch.tensor([0.2, 0.7], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0.5, 0.9], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.nn.functional.binary_cross_entropy, (p, y))
    assert torch.autograd.gradgradcheck(torch.nn.functional.binary_cross_entropy, (p, y))
