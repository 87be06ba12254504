"""The kernels of Fourier transforms by name: sums by hand, scalings, halves, gradients."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch


def by_hand(x, sign):
    n = len(x)
    return [
        sum(
            v * complex(math.cos(2 * math.pi * k * j / n), sign * math.sin(2 * math.pi * k * j / n))
            for j, v in enumerate(x)
        )
        for k in range(n)
    ]


X = [1.0, -2.0, 0.5, 4.0, 3.0]


def test_complex():
    t = torch.tensor(X, dtype=torch.complex128)
    for forward, sign in ((True, -1), (False, 1)):
        expected = torch.tensor(by_hand(X, sign), dtype=torch.complex128)
        torch.testing.assert_close(torch.ops.aten._fft_c2c(t, [0], 0, forward), expected)
        torch.testing.assert_close(torch.ops.aten._fft_c2c(t, [0], 1, forward), expected / math.sqrt(5))
        torch.testing.assert_close(torch.ops.aten._fft_c2c(t, [0], 2, forward), expected / 5)


def test_from_real_and_back():
    t = torch.tensor(X, dtype=torch.float64)
    expected = torch.tensor(by_hand(X, -1), dtype=torch.complex128)
    half = torch.ops.aten._fft_r2c(t, [0], 0, True)
    torch.testing.assert_close(half, expected[:3])
    torch.testing.assert_close(torch.ops.aten._fft_r2c(t, [0], 0, False), expected)
    torch.testing.assert_close(torch.ops.aten._fft_c2r(half, [0], 2, 5), t)


def test_gradients():
    t = torch.tensor(X, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.view_as_real(torch.ops.aten._fft_r2c(x, [0], 1, True)), t)
    z = torch.tensor(X, dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: torch.ops.aten._fft_c2r(x, [0], 0, 8), z)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_gradient_of_half_spectra(n, norm):
    """One real transform of the half, and (where it has a gradient itself) one of the whole: both are the sums' own."""
    torch.manual_seed(0)
    x = torch.randn(2, n, 3, dtype=torch.float64, requires_grad=True)
    run = lambda t: torch.fft.rfft(t, dim=1, norm=norm)
    assert torch.autograd.gradcheck(run, x)
    assert torch.autograd.gradgradcheck(lambda t: run(t).abs().square(), x)
    y = run(x)
    g = torch.randn(y.shape, dtype=y.dtype)
    (once,) = torch.autograd.grad(y, x, g, retain_graph=True)
    (again,) = torch.autograd.grad(y, x, g.requires_grad_(), create_graph=True)
    assert torch.allclose(once, again)
