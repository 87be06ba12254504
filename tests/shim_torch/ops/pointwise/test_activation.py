"""Activations: special values as PyTorch's, gradients in one pass, settings that are refused."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_gradients(dim):
    x = leaf(4, 40)
    for call in (torch.softmax, torch.log_softmax):
        assert check(lambda t, c=call: c(t, dim), (x,), fast_mode=True) and check_twice(
            lambda t, c=call: c(t, dim), (x,), fast_mode=True
        )


INF, NAN = math.inf, math.nan


X = [-30.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0, NAN, INF, -INF]


# PyTorch 2.13, float32.
EXPECTED = {
    "elu": [-1.0, -0.9502129554748535, -0.39346933364868164, 0.0, 0.5, 3.0, 30.0, NAN, INF, -1.0],
    "hardswish": [-0.0, -0.0, -0.2083333283662796, 0.0, 0.2916666567325592, 3.0, 30.0, NAN, INF, NAN],
    "selu": [-1.7580993175506592, -1.6705687046051025, -0.6917581558227539, 0.0, 0.5253505110740662,
             3.1521029472351074, 31.52103042602539, NAN, INF, -1.7580993175506592],
    "leaky_relu": [-0.29999998211860657, -0.029999999329447746, -0.004999999888241291, 0.0, 0.5, 3.0, 30.0, NAN, INF, -INF],
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_special_values(name):
    for times in (1, 60):  # alone, and in the vector loop
        got = getattr(F, name)(torch.tensor(X * times)).numpy()
        np.testing.assert_allclose(got, np.float32(EXPECTED[name] * times), rtol=3e-7, atol=2e-19)


@pytest.mark.parametrize("name", ["silu", "gelu", "relu", "elu", "leaky_relu", "tanh", "sigmoid"])
def test_gradients_in_one_pass_are_the_formulas(name):
    call = getattr(torch, name) if name in ("tanh", "sigmoid") else getattr(F, name)
    x = torch.randn(7, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(call, (x,))
    assert torch.autograd.gradgradcheck(call, (x,))


def test_gelu_tanh_gradient():
    x = torch.randn(50, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: F.gelu(t, approximate="tanh"), (x,))
    y = x.detach().float().requires_grad_()
    F.gelu(y, approximate="tanh").sum().backward()
    F.gelu(x, approximate="tanh").sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy(), rtol=2e-5, atol=2e-6)


def test_threshold_keeps_nan():
    found = torch.nn.functional.threshold(torch.tensor([math.nan, 1.0, 2.0]), 1.0, 5.0)
    assert math.isnan(found[0]) and found[1:].tolist() == [5, 2]


def test_log_softmax_does_not_depend_on_a_common_offset():
    x = torch.tensor([[1.0, 5.0, 3.0, 99.0], [7.0, 7.0, 8.0, 9.0]])
    for dim in (0, 1):
        assert torch.equal(F.log_softmax(x, dim), F.log_softmax(x + 1e7, dim))
