"""Pointwise formulas of the CPU: special values as PyTorch's, broadcasting, 16-bit floats rounded once, gradients in one pass."""

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

INF, NAN = math.inf, math.nan
X = [-30.0, -3.0, -0.5, 0.0, 0.5, 3.0, 30.0, NAN, INF, -INF]
# PyTorch 2.13, float32.
EXPECTED = {
    "softplus": [9.357622912219837e-14, 0.04858735203742981, 0.4740769863128662, 0.6931471824645996, 0.9740769863128662,
                 3.0485873222351074, 30.0, NAN, INF, 0.0],
    "mish": [-2.807286954981114e-12, -0.14564746618270874, -0.22074376046657562, 0.0, 0.37524524331092834,
             2.98653507232666, 30.0, NAN, INF, NAN],
    "elu": [-1.0, -0.9502129554748535, -0.39346933364868164, 0.0, 0.5, 3.0, 30.0, NAN, INF, -1.0],
    "logsigmoid": [-30.0, -3.0485873222351074, -0.9740769863128662, -0.6931471824645996, -0.4740769863128662,
                   -0.04858735203742981, -9.357622912219837e-14, NAN, 0.0, -INF],
    "hardswish": [-0.0, -0.0, -0.2083333283662796, 0.0, 0.2916666567325592, 3.0, 30.0, NAN, INF, NAN],
    "selu": [-1.7580993175506592, -1.6705687046051025, -0.6917581558227539, 0.0, 0.5253505110740662,
             3.1521029472351074, 31.52103042602539, NAN, INF, -1.7580993175506592],
    "leaky_relu": [-0.29999998211860657, -0.029999999329447746, -0.004999999888241291, 0.0, 0.5, 3.0, 30.0, NAN, INF, -INF],
}  # fmt: skip
POWERS = {
    0.5: [NAN, NAN, -0.0, 0.0, 1.2247449159622192, INF, NAN],
    -0.5: [NAN, NAN, -INF, INF, 0.8164965510368347, 0.0, NAN],
    2: [INF, 6.25, 0.0, 0.0, 2.25, INF, NAN],
    3: [-INF, -15.625, -0.0, 0.0, 3.375, INF, NAN],
    -1: [-0.0, -0.4000000059604645, -INF, INF, 0.6666666865348816, 0.0, NAN],
    -2: [0.0, 0.1599999964237213, INF, INF, 0.4444444477558136, 0.0, NAN],
    1: [-INF, -2.5, -0.0, 0.0, 1.5, INF, NAN],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_special_values(name):
    for times in (1, 60):  # alone, and in the vector loop
        got = getattr(F, name)(torch.tensor(X * times)).numpy()
        np.testing.assert_allclose(got, np.float32(EXPECTED[name] * times), rtol=3e-7, atol=2e-19)


@pytest.mark.parametrize("exponent", POWERS)
def test_powers_by_a_number(exponent):
    x = torch.tensor([-INF, -2.5, -0.0, 0.0, 1.5, INF, NAN])
    got = (x**exponent).numpy()
    np.testing.assert_allclose(got, np.float32(POWERS[exponent]), rtol=1e-7)
    assert np.array_equal(
        np.signbit(got[:6]), np.signbit(np.float32(POWERS[exponent])[:6]) | np.isnan(got[:6]) & np.signbit(got[:6])
    )
    y = x.clone()
    assert y.pow_(exponent) is y
    np.testing.assert_array_equal(y.numpy(), got)


def test_powers_keep_their_promotion():
    whole = torch.tensor([1, 2, 3])
    assert (whole**2).tolist() == [1, 4, 9] and (whole**2).dtype == torch.int64
    assert (whole**2.0).dtype == torch.float32 and (whole**0.5).dtype == torch.float32
    assert (2 ** torch.tensor([1.0, 3.0])).tolist() == [2.0, 8.0]
    assert (torch.ones(2, dtype=torch.float16) ** 3).dtype == torch.float16
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (x**3).sum().backward()
    assert x.grad.tolist() == [12.0, 27.0]


def test_half_is_rounded_once():
    x = torch.randn(1000).to(torch.float16)
    wide = x.double().numpy()
    assert np.array_equal(torch.addcmul(x, x, x, value=0.5).numpy(), np.float16(np.float32(wide + 0.5 * wide * wide)))
    assert np.array_equal((x**2).numpy(), np.float16(np.float32(wide * wide)))


def test_formulas_broadcast_and_take_strides():
    a, b = torch.randn(5, 1, 7), torch.randn(6, 1)
    c = torch.randn(7, 6).t()
    got = torch.addcdiv(a, b, c.abs() + 1, value=2)
    want = a.numpy() + 2 * (b.numpy() / (np.abs(c.numpy()) + 1))
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    assert torch.lerp(a, a + 1, 0.25).shape == a.shape
    np.testing.assert_allclose(
        torch.lerp(a, b, torch.tensor(0.75)).numpy(), (a + (b - a) * 0.75).numpy(), rtol=1e-4, atol=1e-6
    )


def test_in_place_formulas():
    x = torch.arange(10.0)
    x[1:].addcmul_(torch.ones(9), torch.full((9,), 2.0), value=0.5)
    assert x.tolist() == [0.0, *[i + 1.0 for i in range(1, 10)]]
    F.leaky_relu(z := torch.tensor([-1.0, 1.0]), 0.5, inplace=True)
    assert z.tolist() == [-0.5, 1.0] and z._version == 1


def test_masked_fill_and_where_of_every_size():
    mask = torch.tensor([True, False, True] * 20)
    for dtype in (torch.bool, torch.int8, torch.int16, torch.bfloat16, torch.float32, torch.int64, torch.complex64):
        x = torch.arange(60).to(dtype)
        filled = x.masked_fill(mask, 1)
        assert filled.dtype == dtype and torch.equal(filled, torch.where(mask, torch.ones(60, dtype=dtype), x))
        assert filled[1::3].tolist() == x[1::3].tolist()
    spread = torch.zeros(3, 4).masked_fill_(torch.tensor([[True], [False], [True]]), 7.0)
    assert spread.sum(1).tolist() == [28.0, 0.0, 28.0]


def test_clamp_by_tensors():
    x = torch.tensor([-2.0, 0.5, 3.0, NAN])
    assert torch.clamp(x, torch.tensor(-1.0), torch.tensor([0.0, 1.0, 2.0, 2.0])).tolist()[:3] == [-1.0, 0.5, 2.0]
    assert torch.clamp(x, min=torch.tensor([0.0, 1.0, 1.0, 1.0])).tolist()[:3] == [0.0, 1.0, 3.0]
    assert math.isnan(torch.clamp(x, max=torch.tensor(1.0))[3])


def test_floats_to_small_integers_as_pytorch():
    x = torch.tensor([3e9 + 512, 70000.0, -70001.0, NAN, 300.7, -300.7] * 20)
    assert x.to(torch.int8)[:6].tolist() == [0, 112, -113, 0, 44, -44]
    assert x.to(torch.int16)[:6].tolist() == [0, 4464, -4465, 0, 300, -300]
    assert x.to(torch.uint8)[:6].tolist() == [0, 112, 143, 0, 44, 212]


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int16, torch.float32, torch.int64, torch.complex128])
def test_fills_of_every_size(dtype):
    assert torch.full((70,), 1, dtype=dtype).tolist() == [torch.ones((), dtype=dtype).item()] * 70
    x = torch.zeros(70, dtype=dtype)
    x[::2].fill_(1)
    assert x.tolist() == [torch.tensor(i % 2 == 0).to(dtype).item() for i in range(70)]


@pytest.mark.parametrize(
    "name", ["silu", "gelu", "mish", "softplus", "relu", "elu", "leaky_relu", "logsigmoid", "tanh", "sigmoid"]
)
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
