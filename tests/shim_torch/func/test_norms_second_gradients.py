"""Second gradients of norms within a batch: the mean and the deviation depend on the input."""

import pytest

import shim_torch as torch
from shim_torch.func import grad, vmap
from shim_torch.nn import functional as F

aten = torch.ops.aten
NORMS = {
    "layer_norm": lambda x, w, b: F.layer_norm(x, (4,), w, b),
    "group_norm": lambda x, w, b: F.group_norm(x.mT, 2, w, b),
    "batch_norm": lambda x, w, b: F.batch_norm(x.mT, None, None, w, b, True),
    "instance_norm": lambda x, w, b: F.instance_norm(x.mT, None, None, w, b),
    "rms_norm": lambda x, w, b: F.rms_norm(x, (4,), w) + b,
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("by", ["input", "weight"])
def test_of_items_as_of_each(name, by):
    torch.manual_seed(0)
    scale, weight, bias = (torch.randn(n, dtype=torch.float64, requires_grad=True) for n in ((), 4, 4))
    xs = torch.randn(2, 5, 6, 4, dtype=torch.float64)

    def of_item(x):
        if by == "input":
            return grad(lambda y: NORMS[name](y, weight, bias).pow(3).mean())(x * scale).pow(2).sum()
        return grad(lambda w: NORMS[name](x * scale, w, bias).pow(3).mean())(weight).pow(2).sum()

    inputs = (scale, weight, bias)
    batched = torch.autograd.grad(vmap(of_item)(xs).sum(), inputs)
    each = torch.autograd.grad(sum(of_item(x) for x in xs), inputs)
    torch.testing.assert_close(batched, each)


def _layer(g, x, w):
    found = aten.native_layer_norm(x, [4], w, None, 1e-5)
    return aten.native_layer_norm_backward(g, x, [4], found[1], found[2], w, None, [True, True, False])


def _group(g, x, w):
    found = aten.native_group_norm(x.mT, w, None, 5, 4, 6, 2, 1e-5)
    return aten.native_group_norm_backward(
        g.mT, x.mT, found[1].detach(), found[2].detach(), w, 5, 4, 6, 2, [True, True, False]
    )


def _batch(g, x, w):
    found = aten.native_batch_norm(x.mT, w, None, None, None, True, 0.1, 1e-5)
    return aten.native_batch_norm_backward(
        g.mT, x.mT, w, None, None, found[1], found[2], True, 1e-5, [True, True, False]
    )


@pytest.mark.parametrize("backward", [_layer, _group, _batch])
def test_of_the_backward_operators(backward):
    torch.manual_seed(0)
    g, x = (torch.randn(5, 6, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    w = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *a: backward(*a)[:2], (g, x, w))
