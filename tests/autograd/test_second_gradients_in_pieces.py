"""Operators of straight pieces: as in PyTorch their second gradient is zeros, where the first one's graph still knows the input."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

PIECES = {
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "threshold": lambda x: F.threshold(x, 0.1, 2.0),
    "prelu": lambda x: F.prelu(x, torch.full((1,), 0.25, dtype=x.dtype)),
    "max_pool1d": lambda x: F.max_pool1d(x, 2),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 1),
}


@pytest.mark.parametrize("name", PIECES)
def test_zeros_come_back(name):
    x = torch.tensor([[[-2.0, 0.3, 1.5], [0.7, -0.2, 8.0]]], dtype=torch.float64, requires_grad=True)
    y = PIECES[name](x)
    (first,) = torch.autograd.grad(y, x, torch.full_like(y, 3.0), create_graph=True)
    (plain,) = torch.autograd.grad(PIECES[name](x), x, torch.full_like(y, 3.0))
    assert first.requires_grad and not plain.requires_grad and torch.equal(first, plain)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [[[0.0] * 3] * 2]


IMAGES = {
    "avg_pool1d": lambda x: F.avg_pool1d(x[0], 2, padding=1),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2, padding=1),
    "avg_pool3d": lambda x: F.avg_pool3d(x, 2),
    "avg_pool2d of half": lambda x: F.avg_pool2d(x.half(), 2).double(),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x[0], 3),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(x, 3),
    "reflect": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 2), mode="replicate") if x.dim() < 4 else F.pad(x[0], (1, 2), mode="replicate"),
    "interpolate by area": lambda x: F.interpolate(x, size=(3, 3), mode="area"),
    "nll_loss": lambda x: F.nll_loss(x[0, 0], torch.tensor([1, 0, 3, 2])),
    "nll_loss of images": lambda x: F.nll_loss(x, torch.ones(1, 4, 4, dtype=torch.long), reduction="none"),
}


@pytest.mark.parametrize("name", IMAGES)
def test_linear_ones_with_backward_operators_of_their_own(name):
    x = torch.arange(32, dtype=torch.float64).reshape(1, 2, 4, 4).requires_grad_()
    y = IMAGES[name](x)
    g = torch.ones_like(y).requires_grad_()
    (first,) = torch.autograd.grad(y, x, g, create_graph=True)
    (plain,) = torch.autograd.grad(IMAGES[name](x), x, torch.ones_like(y))
    assert torch.equal(first, plain)
    into_g, into_x = torch.autograd.grad(first.square().sum(), (g, x))
    assert into_g.any() and into_x.shape == x.shape and not into_x.any()


def test_gradient_of_the_given_gradient_is_the_mask():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    g = torch.ones(2, requires_grad=True)
    (first,) = torch.autograd.grad(F.relu(x), x, g, create_graph=True)
    assert first.grad_fn.name() == "ReluBackwardBackward0"
    into_g, into_x = torch.autograd.grad(first, (g, x), torch.tensor([5.0, 7.0]))
    assert into_g.tolist() == [0, 7] and into_x.tolist() == [0, 0]


def test_second_derivative_of_a_network_of_pieces():
    torch.manual_seed(0)  # some units are alive
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    x = torch.ones(2, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), x, retain_graph=True)
    assert not curvature.any()
    slope.square().sum().backward()  # a penalty of the slope reaches the weights, and zeros the first bias
    assert net[0].weight.grad.any() and net[0].bias.grad.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("name", "slope"), [("relu", 0.0), ("leaky_relu", 0.01), ("hardtanh", 0.0), ("relu6", 0.0)])
def test_second_gradients_of_a_write_through_a_view(name, slope):
    x = torch.tensor([1.0, -1.5, 0.5, -1.0], requires_grad=True)
    g = torch.ones(4, requires_grad=True)
    base = x.clone()
    PIECES[name](base.narrow(0, 1, 2), inplace=True)
    (first,) = torch.autograd.grad(base, x, g, create_graph=True)
    of_x, of_g = torch.autograd.grad(first, [x, g], torch.ones(4))
    assert of_x.tolist() == [0.0] * 4
    torch.testing.assert_close(of_g, torch.tensor([1.0, slope, 1.0, 1.0]))
