"""Functions of three tensors: scaled products, interpolation."""

import numpy as np

import shim_torch as torch
from shim_torch.nn import functional as F


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


def test_half_is_rounded_once():
    x = torch.randn(1000).to(torch.float16)
    wide = x.double().numpy()
    assert np.array_equal(torch.addcmul(x, x, x, value=0.5).numpy(), np.float16(np.float32(wide + 0.5 * wide * wide)))
    assert np.array_equal((x**2).numpy(), np.float16(np.float32(wide * wide)))
