"""Losses of two tensors: values and gradients by their formulas, in one pass; settings, and what they refuse."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.nn import functional as F

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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_are_those_that_keep_a_history(dtype, reduction):
    torch.manual_seed(0)
    x, y, rows = (
        torch.randn(70000, dtype=dtype),
        torch.randn(70000, dtype=dtype),
        torch.randn(40, 7, dtype=dtype).log_softmax(1),
    )
    places = torch.randint(0, 7, (40,))
    places[3] = -100
    weight = torch.rand(7, dtype=dtype)
    for loss in (
        F.mse_loss,
        F.l1_loss,
        F.smooth_l1_loss,
        F.huber_loss,
        lambda a, b, reduction: F.smooth_l1_loss(a, b, reduction=reduction, beta=0.3),
    ):
        kept = loss(x.clone().requires_grad_(), y, reduction=reduction)
        assert torch.allclose(loss(x, y, reduction=reduction), kept.detach(), rtol=1e-5)
    for w in (None, weight):
        for ignored in (-100, 2):
            where = places.masked_fill(places == -100, ignored)
            kept = F.nll_loss(rows.clone().requires_grad_(), where, w, reduction=reduction, ignore_index=ignored)
            assert torch.allclose(
                F.nll_loss(rows, where, w, reduction=reduction, ignore_index=ignored), kept.detach(), rtol=1e-5
            )
    with pytest.raises(IndexError, match="Target 9 is out of bounds."):
        F.nll_loss(rows[:1], torch.tensor([9]))


check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy(reduction):
    x, target, weight = leaf(6, 5), torch.tensor([0, 4, 2, 1, 1, 3]), torch.rand(5, dtype=torch.float64) + 0.1
    for more in ({}, {"ignore_index": 1}, {"weight": weight}, {"weight": weight, "ignore_index": 4}):
        call = lambda x, more=more: F.cross_entropy(x, target, reduction=reduction, **more)
        steps = F.nll_loss(x.log_softmax(1), target, reduction=reduction, **more)
        np.testing.assert_allclose(call(x).detach().numpy(), steps.detach().numpy(), rtol=1e-12)
        assert check(call, (x,), fast_mode=True) and check_twice(call, (x,), fast_mode=True)
    image = leaf(2, 3, 4, 5)
    places = torch.randint(0, 3, (2, 4, 5))
    np.testing.assert_allclose(F.cross_entropy(image, places, reduction=reduction).detach().numpy(),
                               F.nll_loss(image.log_softmax(1), places, reduction=reduction).detach().numpy(), rtol=1e-12)  # fmt: skip


def test_cross_entropy_bounds_and_nothing_left():
    with pytest.raises(IndexError, match="Target 5 is out of bounds"):
        F.cross_entropy(torch.randn(2, 5), torch.tensor([0, 5]))
    assert math.isnan(F.cross_entropy(torch.randn(2, 5), torch.tensor([-100, -100])))


def test_hinge_losses_are_of_the_dtype_of_the_input():
    loss = F.hinge_embedding_loss(torch.tensor([1, 5]), torch.tensor([-1, 1]), margin=8.4, reduction="none")
    assert loss.dtype is torch.int64 and loss.tolist() == [7, 5]


def test_what_kl_div_says_of_its_mean():
    with pytest.warns(
        UserWarning, match=r"the support size\.'batchmean' divides .* math definition\.'mean' will be changed"
    ):
        F.kl_div(torch.zeros(2), torch.ones(2))


def test_losses_take_their_settings_by_place_and_by_name():
    a, b, y = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 0.5]), torch.tensor([1.0, -1.0])
    assert F.margin_ranking_loss(a, b, target=y, margin=0.5, reduction="sum").item() == 3.5
    assert F.margin_ranking_loss(a, b, y, 0.5, None, None, "sum").item() == 3.5


def test_weights_of_nll_loss():
    with pytest.raises(RuntimeError, match="weight tensor should be defined either for all 3 classes or no classes"):
        torch.nn.functional.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(4))


def test_the_target_gives_a_margin_loss_its_shape():
    x = torch.tensor([0.1, 0.2, 0.7])
    for target, shape in ((torch.tensor(1), ()), (torch.tensor([1]), (1,))):
        got = F.multi_margin_loss(x, target, reduction="none")
        assert got.shape == shape and got.item() == pytest.approx(0.8)


@pytest.mark.parametrize("loss", [torch.nn.functional.cross_entropy, torch.nn.functional.nll_loss])
@pytest.mark.parametrize(("dtype", "name"), [(torch.float16, "Half"), (torch.int32, "Int"), (torch.bool, "Bool")])
def test_classes_are_told_by_longs_or_bytes(loss, dtype, name):
    with pytest.raises(RuntimeError, match=f"^expected target dtype to be Long or Byte, but got {name}$"):
        loss(torch.rand(3, 5), torch.ones(3).to(dtype))
    assert loss(torch.rand(3, 5), torch.ones(3, dtype=torch.uint8)).shape == ()
    with pytest.raises(RuntimeError, match="0D or 1D target tensor expected"):
        loss(torch.rand(3, 5), torch.ones(3, 2, dtype=dtype))


def test_batchmean_of_one_dim_divides_by_its_size():
    i, t = torch.tensor([0.1, 0.2]).log(), torch.tensor([0.3, 0.2])
    assert nn.KLDivLoss(reduction="batchmean")(i, t).item() == pytest.approx(0.1648, abs=1e-4)
