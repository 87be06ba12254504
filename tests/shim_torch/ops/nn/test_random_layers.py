"""Dropout of channels, fractional pools and slopes drawn at random: what is kept, drawn and refused."""

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

from ..expressions import mismatch
from . import random_layers_cases as cases


def test_dropout_of_channels():
    torch.manual_seed(0)
    rows = F.dropout1d(torch.ones(64, 5), 0.5)  # (C, L): a channel is a row
    assert set(rows.sum(1).tolist()) == {0.0, 10.0}
    x = torch.ones(8, 16, 3, 3)
    same = F.dropout2d(x, 0.5, inplace=True)
    assert same is x and set(x.sum((2, 3)).flatten().tolist()) == {0.0, 18.0}
    blocks = F.dropout3d(torch.ones(32, 2, 2, 2), 0.5)
    assert set(blocks.sum((1, 2, 3)).tolist()) == {0.0, 16.0}
    with pytest.warns(UserWarning, match="Received a 5-D input to dropout2d"):
        F.dropout2d(torch.ones(1, 2, 2, 2, 2))
    with pytest.warns(UserWarning, match="assuming that channel-wise 1D dropout behavior is desired"):
        F.dropout2d(torch.ones(1, 2, 2))


@pytest.mark.parametrize("name", "dropout alpha_dropout dropout1d feature_alpha_dropout".split())
@pytest.mark.parametrize(("p", "train"), [(0.0, True), (0.5, False), (1.0, False)])
def test_nothing_is_written_in_place_where_nothing_is_dropped(name, p, train):
    leaf = torch.randn(2, 3, 4, requires_grad=True)
    weights = leaf.softmax(-1)  # which its gradient reads
    same = getattr(F, name)(weights, p, train, inplace=True)
    assert same is weights and weights._version == 0 and weights.grad_fn.name() == "SoftmaxBackward0"
    assert getattr(F, name)(leaf, p, train, inplace=True) is leaf
    same.square().sum().backward()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        getattr(F, name)(leaf, 0.5, True, inplace=True)


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dropped_elements_are_products_with_the_mask(inplace, dtype):
    torch.manual_seed(1)
    x = torch.randn(200).to(dtype)
    x[:9] = float("inf")
    leaf = x.clone().requires_grad_()
    out = F.dropout(leaf * 1, 0.3, True, inplace)
    out.backward(torch.ones_like(out))
    factor = torch.tensor(1 / (1 - 0.3)).to(dtype)  # the mask is of the input's dtype
    assert set(leaf.grad.tolist()) == {0.0, factor.item()}
    want = x * leaf.grad
    assert torch.equal(out.isnan(), want.isnan()) and out.isnan().any()
    assert torch.equal(out.nan_to_num().signbit(), want.nan_to_num().signbit())
    assert torch.equal(out.nan_to_num(), want.nan_to_num())


def test_bounds_of_rrelu_are_checked_where_nothing_is_drawn_too():
    with pytest.raises(RuntimeError, match="Lower bound should be less than or equal to the upper bound"):
        F.rrelu(torch.ones(2), lower=0.3, upper=0.1)


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pools_take_samples_of_more_pictures(n):
    x, samples = torch.rand(2, 4, *[7] * n), torch.rand(3, 4, n)
    pool = getattr(torch.nn.functional, f"fractional_max_pool{n}d")
    found = pool(x, 2, output_size=2, _random_samples=samples)
    torch.testing.assert_close(found, pool(x, 2, output_size=2, _random_samples=samples[:2]))
    torch.testing.assert_close(pool(x[0], 2, output_size=2, _random_samples=samples), found[0])
    assert pool(x[:0], 2, output_size=2, _random_samples=samples).shape == (0, 4, *[2] * n)


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_alpha_dropout_keeps_mean_and_variance(p):
    torch.manual_seed(0)
    x = torch.randn(200, 300)
    found = F.alpha_dropout(x, p, True)
    assert abs(found.mean().item()) < 0.02 and abs(found.var().item() - 1) < 0.03
    dropped = found == found.flatten().mode().values  # one value stands for all of them
    assert abs(dropped.float().mean().item() - p) < 0.01
    channels = F.feature_alpha_dropout(x[:, :, None, None].expand(-1, -1, 2, 2), p, True)
    assert torch.equal(channels.amax((2, 3)), channels.amin((2, 3)))
