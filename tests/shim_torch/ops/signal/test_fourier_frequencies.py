"""Frequencies of Fourier transforms and their shifts, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name, n):
    found = getattr(torch.fft, name)(n, 0.25, dtype=torch.float64)
    np.testing.assert_allclose(found.numpy(), getattr(np.fft, name)(n, 0.25), rtol=1e-15)
    assert getattr(torch.fft, name)(n).dtype == torch.float32
    with pytest.raises(RuntimeError, match=f"{name} requires a floating point or complex dtype"):
        getattr(torch.fft, name)(n, dtype=torch.int64)


@pytest.mark.parametrize("call", [torch.fft.fftfreq, torch.fft.rfftfreq])
def test_frequencies_tell_of_an_out_of_another_size(call):
    out = torch.empty(())
    with pytest.warns(
        UserWarning, match="does not match the computed number of elements .* out tensor will be resized"
    ):
        call(6, d=0.5, out=out)
    assert torch.equal(out, call(6, d=0.5))


@pytest.mark.parametrize("dim", [None, 0, (1,), (0, -1)])
def test_shifts(dim):
    x = np.arange(30).reshape(5, 6)
    t = torch.from_numpy(x)
    for name in ("fftshift", "ifftshift"):
        np.testing.assert_array_equal(getattr(torch.fft, name)(t, dim).numpy(), getattr(np.fft, name)(x, dim))
    assert torch.equal(torch.fft.ifftshift(torch.fft.fftshift(t, dim), dim), t)
    y = torch.ones(3, requires_grad=True)
    (torch.fft.fftshift(y) * torch.arange(3.0)).sum().backward()
    assert y.grad.tolist() == [1, 2, 0]
