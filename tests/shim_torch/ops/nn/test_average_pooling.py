"""Pools by means on the CPU: values, gradients, strides."""

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

from ..checked_calls import both

LAST = torch.channels_last


def test_adaptive_mean_of_all_has_the_strides_of_channels_last():
    x = torch.randn(2, 3, 6, 6).contiguous(memory_format=LAST)
    assert F.adaptive_avg_pool2d(x, 1).stride() == (3, 1, 3, 3)


check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("settings", [(2, 2, 0), (3, 2, 1), ((3, 2), (2, 1), (1, 0)), (3, 1, 1)])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("more", [{}, {"count_include_pad": False}, {"divisor_override": 5}])
def test_avg_pool(settings, ceil_mode, more):
    x = leaf(2, 3, 6, 7)
    call = lambda t: F.avg_pool2d(t, *settings, ceil_mode=ceil_mode, **more)
    with torch.no_grad():
        got = call(x)
    steps = call(x.detach().clone(memory_format=torch.channels_last))  # by tensor operations
    np.testing.assert_allclose(got.numpy(), steps.numpy(), rtol=1e-12)
    assert check(call, (x,), fast_mode=True) and check_twice(call, (x,), fast_mode=True)


def test_adaptive_means():
    x = leaf(2, 3, 6, 8)
    for size in (1, 2, (3, 4), (4, 3)):
        np.testing.assert_allclose(
            F.adaptive_avg_pool2d(x, size).detach().numpy(),
            F.adaptive_avg_pool2d(x.detach().clone(memory_format=torch.channels_last), size).numpy(), rtol=1e-12)  # fmt: skip
        assert check(lambda t, s=size: F.adaptive_avg_pool2d(t, s), (x,), fast_mode=True)


@pytest.mark.parametrize(
    "window", [(2,), (3, 2, 1), (2, 1, 0, True), (3, 2, 1, False, False), (2, 2, 1, True, False, 3)]
)
def test_pools(image, window):
    both(lambda t: F.avg_pool2d(t, *window), image)
    both(lambda t: F.max_pool2d(t, *window[:3]), image)
    both(lambda t: F.max_pool1d(t[:, 0], *window[:3]), image)
    if len(window) < 6:
        both(lambda t: F.avg_pool1d(t[:, 0], *window), image)
