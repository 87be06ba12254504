"""CPU kernels of Fourier transforms, against NumPy's: lengths of every kind of factor, several dims, strides, norms."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 15, 30, 53, 97, 100, 121, 206, 1009]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("rows", [1, 3, 20])
def test_lengths(n, rows):
    r = np.random.default_rng(n)
    x, y = r.standard_normal((2, rows, n))
    z = x + 1j * y
    for norm in ("backward", "ortho", "forward"):
        pairs = [
            (torch.fft.fft(torch.from_numpy(z), norm=norm), np.fft.fft(z, norm=norm)),
            (torch.fft.ifft(torch.from_numpy(z), norm=norm), np.fft.ifft(z, norm=norm)),
            (torch.fft.rfft(torch.from_numpy(x), norm=norm), np.fft.rfft(x, norm=norm)),
            (torch.fft.fft(torch.from_numpy(x), norm=norm), np.fft.fft(x, norm=norm)),
            (
                torch.fft.irfft(torch.from_numpy(z)[:, : n // 2 + 1], n, norm=norm),
                np.fft.irfft(z[:, : n // 2 + 1], n, norm=norm),
            ),
        ]
        for found, wanted in pairs:
            assert found.shape == wanted.shape
            assert np.allclose(found.numpy(), wanted, rtol=1e-10, atol=1e-10 * max(1, np.abs(wanted).max()))
    narrow = torch.fft.fft(torch.from_numpy(z.astype("complex64")))
    assert narrow.dtype == torch.complex64 and np.allclose(narrow.numpy(), np.fft.fft(z), atol=3e-6 * np.abs(z).sum())


def test_a_row_with_nan_leaves_the_others():
    x = torch.ones(20, 9)
    x[3, 2] = float("nan")
    found = torch.fft.rfft(x)
    assert np.isnan(found[3].numpy()).all() and not np.isnan(found[[0, 2, 4, 19]].numpy()).any()


def test_gradients():
    x = torch.rand(3, 10, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: torch.view_as_real(torch.fft.rfft(t)), (x,))
    assert torch.autograd.gradcheck(lambda t: torch.fft.irfft(torch.fft.fft(t), 9), (x,))


def test_half_precision_transforms_are_cudas():
    x = torch.randn(3, 8).half()
    assert torch.fft.rfft(x.to("meta")).dtype == torch.complex32
    with pytest.raises(RuntimeError, match="^Unsupported dtype Half$"):
        torch.fft.fft(x)
    with pytest.raises(RuntimeError, match="^MKL FFT doesn't support tensors of type: Half$"):
        torch.fft.ifft(torch.zeros(4, dtype=torch.complex32))
