"""Results of layers lie in memory like their inputs, on every device."""

import pytest

import shim_torch as torch
from shim_torch import nn

F = torch.nn.functional


def test_pool_to_one_keeps_channels_last(device):
    x = torch.zeros(2, 4, 6, 6).to(memory_format=torch.channels_last)
    assert F.adaptive_avg_pool2d(x, 1).stride() == (4, 1, 4, 4)
    assert F.adaptive_avg_pool2d(x.contiguous(), 1).stride() == (4, 1, 1, 1)


def test_dropout_keeps_the_order(device):
    x = torch.ones(2, 4, 6, 6)
    for given in (x.to(memory_format=torch.channels_last), x.transpose(1, 2), x):
        y = F.dropout(given, 0.5, True)
        assert y.stride() == given.stride()
        if device != "meta":
            assert torch.equal(torch.unique(y), torch.tensor([0.0, 2.0]))
    assert F.dropout(x[:, :, ::2], 0.5, True).is_contiguous()


def test_gradient_of_threshold_keeps_channels_last(device):
    x = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last).requires_grad_()
    g = torch.autograd.grad(F.threshold(x, 0.1, 2.0).sum(), x)[0]
    assert g.stride() == x.stride()
    if device != "meta":
        assert torch.equal(g, (x > 0.1).float())


@pytest.mark.devices("cpu", "cuda")
def test_sparse_products_are_the_same_again(device):
    torch.manual_seed(0)
    # In float64: the kernels of float32's dense products are chosen while they run.
    a = (torch.randn(50, 60).double() * (torch.randn(50, 60) > 0)).to_sparse()
    b, g = torch.randn(60, 30).double(), torch.randn(50, 30).double()
    found = []
    for _ in range(10):
        x, y = a.detach().requires_grad_(), b.clone().requires_grad_()
        z = torch.sparse.mm(x, y)
        of_x, of_y = torch.autograd.grad(z, (x, y), g)
        found.append((z.detach(), of_x.to_dense(), of_y))
    assert all(torch.equal(p, q) for one in found for p, q in zip(one, found[0], strict=True))
    torch.testing.assert_close(found[0][0], a.to_dense() @ b)


def test_weights_of_convolutions_in_channels_last():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Linear(2, 2))
    nn.utils.convert_conv2d_weight_memory_format(net, torch.channels_last)
    assert net[0].weight.is_contiguous(memory_format=torch.channels_last)
