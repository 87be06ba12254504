"""Draws with a tensor's mean or deviation have zero gradients; entropies of exponential families in batches."""

import pytest

import shim_torch as torch
from shim_torch.autograd import forward_ad


def test_normal_has_zero_gradients():
    mean, std = torch.ones(1, 3, requires_grad=True), torch.ones(2, 1, requires_grad=True)
    for made in (torch.normal(mean, std), torch.normal(mean, 2.0).sum() + torch.normal(1.0, std)):
        found = torch.autograd.grad(made.sum(), (mean, std))
        assert made.requires_grad and [g.shape for g in found] == [mean.shape, std.shape]
        assert not any(g.count_nonzero() for g in found)
    out = torch.empty(3)
    assert torch.normal(torch.arange(3.0), 0.0, out=out) is out and out.tolist() == [0, 1, 2]
    with forward_ad.dual_level():
        drawn = torch.normal(forward_ad.make_dual(torch.ones(3), torch.ones(3)), 1.0)
        assert not forward_ad.unpack_dual(drawn).tangent.count_nonzero()


def test_reparametrized_samples_keep_theirs():
    loc = torch.zeros(3, requires_grad=True)
    torch.distributions.Normal(loc, 1.0).rsample().sum().backward()
    assert loc.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_entropy_by_automatic_differentiation(batch):
    scale = torch.tensor([[1.3, 0.0], [0.5, 2.0]]).expand(*batch, 2, 2)
    wishart = torch.distributions.Wishart(torch.full(batch, 5.0), scale_tril=scale)
    found = torch.distributions.ExponentialFamily.entropy(wishart)
    assert found.shape == batch and torch.allclose(found, wishart.entropy(), atol=1e-4)
