"""Fourier transforms along several dims, against NumPy's: strides, sizes, norms, halves and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch


@pytest.mark.parametrize("dims", [(0,), (1, 2), (2, 1), (0, 2), (0, 1, 2), (-1, -3)])
def test_several_dims_and_strides(dims):
    r = np.random.default_rng(0)
    x = r.standard_normal((4, 6, 10))
    for a in (x, np.transpose(x, (2, 0, 1)), x[:, ::2]):
        t = torch.from_numpy(np.ascontiguousarray(x))
        t = t if a is x else t.permute(2, 0, 1) if a.shape[0] == 10 else t[:, ::2]
        assert np.allclose(torch.fft.fftn(t, dim=dims).numpy(), np.fft.fftn(a, axes=dims))
        assert np.allclose(torch.fft.rfftn(t, dim=dims).numpy(), np.fft.rfftn(a, axes=dims))
        assert np.allclose(
            torch.fft.irfftn(torch.complex(t, t), dim=dims).numpy(), np.fft.irfftn(a + 1j * a, axes=dims)
        )


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("s", [None, (3, 8), (7, 5)])
def test_two_dims(s, norm):
    r = np.random.default_rng(1)
    x = r.standard_normal((2, 4, 6))
    z = x + 1j * r.standard_normal((2, 4, 6))
    for name, given in (("fft2", z), ("ifft2", z), ("rfft2", x), ("irfft2", z)):
        found = getattr(torch.fft, name)(torch.from_numpy(given), s, norm=norm)
        np.testing.assert_allclose(found.numpy(), getattr(np.fft, name)(given, s, norm=norm), atol=1e-12)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_hermitian_signals(norm):
    x = torch.from_numpy(np.random.default_rng(2).standard_normal((4, 6, 5)))
    half = torch.fft.ihfftn(x, norm=norm)
    whole = np.fft.ifftn(x.numpy(), norm=norm)
    np.testing.assert_allclose(half.numpy(), whole[..., :3], atol=1e-12)
    torch.testing.assert_close(torch.fft.hfftn(half, (-1, -1, 5), (0, 1, 2), norm), x)
    torch.testing.assert_close(torch.fft.hfft2(torch.fft.ihfft2(x, norm=norm), (6, 5), norm=norm), x)


def test_the_last_dims_are_those_of_the_sizes():
    x = torch.rand(3, 4, 5, dtype=torch.float64)
    torch.testing.assert_close(torch.fft.fftn(x, (2, 6)), torch.fft.fft2(x, (2, 6)))
    assert torch.fft.rfftn(x, (-1, 8)).shape == (3, 4, 5)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: torch.fft.fftn(x, dim=(0, -2)), "FFT dims must be unique"),
        (lambda x: torch.fft.fftn(x, (2, 2), (0,)), "When given, dim and shape arguments must have the same length"),
        (lambda x: torch.fft.fftn(x, (2, 2, 2)), "Got shape with 3 values but input tensor only has 2 dimensions"),
        (lambda x: torch.fft.rfftn(x, dim=()), "rfftn must transform at least one axis"),
        (lambda x: torch.fft.rfftn(x + 0j), "rfftn expects a real-valued input tensor, but got ComplexFloat"),
        (lambda x: torch.fft.irfftn(x, (2, 0)), r"Invalid number of data points \(0\) specified"),
    ],
)
def test_refusals(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(torch.ones(2, 3))
