"""Windows and short-time Fourier transforms; the numbers are PyTorch's."""

import re

import numpy as np
import pytest

import shim_torch as torch

pytestmark = [pytest.mark.usefixtures("device"), pytest.mark.devices("cpu", "cuda")]


@pytest.mark.parametrize(
    ("made", "values"),
    [
        (torch.hann_window(5), [0.0, 0.345492, 0.904508, 0.904508, 0.345491]),
        (torch.hamming_window(4, False), [0.08, 0.77, 0.77, 0.08]),
        (torch.blackman_window(4), [0.0, 0.34, 1.0, 0.34]),
        (torch.bartlett_window(5, False), [0.0, 0.5, 1.0, 0.5, 0.0]),
        (torch.kaiser_window(4), [5.277344e-05, 0.2156727, 1.0, 0.2156727]),
        (torch.hann_window(1), [1.0]),
        (torch.hann_window(0), []),
    ],
)
def test_windows(made, values):
    assert made.dtype == torch.float32
    np.testing.assert_allclose(made.cpu().numpy(), values, atol=1e-6)


def test_stft_values():
    x = torch.arange(12.0).sin()
    s = torch.stft(x, 8, hop_length=4, window=torch.hann_window(8), return_complex=True)
    assert s.shape == (5, 4)
    expected = [-0.98651832, 1.40556122 - 1.27739584j, -1.83747243 - 0.2843462j, 1.00954258 + 1.64432955j]
    np.testing.assert_allclose(s[1].cpu().numpy(), expected, atol=2e-6)
    pairs = torch.stft(x, 8, hop_length=4, window=torch.hann_window(8), return_complex=False)
    np.testing.assert_allclose(torch.view_as_complex(pairs).cpu().numpy(), s.cpu().numpy())


@pytest.mark.parametrize(
    "options", [{}, {"normalized": True}, {"onesided": False}, {"win_length": 40, "window": "hann"}]
)
def test_istft_inverts_stft(options):
    x = torch.tensor(np.random.default_rng(0).standard_normal((2, 320)))
    if options.get("window"):
        options = {**options, "window": torch.hann_window(40, dtype=torch.float64)}
    s = torch.stft(x, 64, hop_length=8, return_complex=True, **options)
    np.testing.assert_allclose(
        torch.istft(s, 64, hop_length=8, length=320, **options).cpu().numpy(), x.cpu().numpy(), atol=1e-10
    )


def test_stft_gradient():
    x = torch.from_numpy(np.random.default_rng(0).standard_normal(40)).requires_grad_(True)
    torch.autograd.gradcheck(lambda v: torch.stft(v, 8, return_complex=True).abs().pow(2), (x,))


def test_errors():
    with pytest.raises(RuntimeError, match="stft requires the return_complex parameter"):
        torch.stft(torch.ones(10), 4)
    with pytest.raises(RuntimeError, match="expected a 1D window tensor of size equal to win_length=4"):
        torch.stft(torch.ones(10), 4, window=torch.ones(3), return_complex=True)
    with pytest.raises(RuntimeError, match="hann_window requires non-negative window_length"):
        torch.hann_window(-1)


def test_bessel_functions():
    x = torch.tensor([-2.0, 0.0, 0.5, 3.0, 40.0], dtype=torch.float64, requires_grad=True)
    y = torch.i0(x)
    np.testing.assert_allclose(
        y.detach().cpu().numpy(), [2.2795853, 1.0, 1.0634834, 4.8807926, 1.4894775e16], rtol=1e-7
    )
    y.sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), [-1.5906369, 0.0, 0.2578943, 3.9533702, 1.4707397e16], rtol=1e-7)


def test_transforms_of_frames_ask_for_a_window():
    x, always = torch.arange(8.0), torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="A window was not provided. A rectangular window will be applied,which"):
            frames = torch.stft(x, 4, 1, return_complex=True)
        with pytest.warns(UserWarning, match="A window was not provided.*to make the inversion lossless"):
            found = torch.istft(frames, 4, 1)
    finally:
        torch.set_warn_always(always)
    torch.testing.assert_close(found, x)


@pytest.mark.parametrize(
    ("rows", "settings", "text"),
    [
        (4, {"return_complex": True}, "Cannot have onesided output if window or input is complex"),
        (4, {"window": torch.ones(6, dtype=torch.complex64)}, "Complex windows are incompatible with return_complex=False"),
        (5, {"window": torch.ones(6)}, "window=torch.FloatTensor{[6]}, center=1, normalized=0, onesided=None, length=None, return_complex=0) : "
         "expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when onesided=True, but got 5"),
    ],
)  # fmt: skip
def test_istft_refuses_what_has_no_inverse(rows, settings, text):
    with pytest.raises(RuntimeError, match=re.escape(text)):
        torch.istft(torch.ones(rows, 5, dtype=torch.complex64), 6, **settings)


@pytest.mark.parametrize(
    ("call", "there"),
    [
        (torch.fft.ifft, lambda x: np.fft.ifft(x)),
        (torch.fft.ihfft, lambda x: np.fft.ihfft(x)),
        (lambda x: torch.fft.ihfftn(x, dim=(0,)), lambda x: np.fft.ihfft(x, axis=0)),
    ],
)
def test_inverses_of_real_signals_are_conjugate_views(call, there):
    x = torch.arange(24.0, dtype=torch.float64).reshape(4, 6).sin()
    found = call(x)
    assert found.is_conj()
    np.testing.assert_allclose(found.resolve_conj().cpu().numpy(), there(x.cpu().numpy()), atol=1e-12)
    assert not torch.fft.ihfftn(x).is_conj() and not torch.fft.ifft(x + 0j).is_conj()
