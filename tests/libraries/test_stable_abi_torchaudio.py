"""The stock torchaudio wheel over our torch: its compiled operators and functionals against NumPy."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if importlib.util.find_spec("torchaudio") is None:
    pytest.skip("torchaudio is not installed (make test installs it)", allow_module_level=True)

_token = enable_torch_proxy({"torchaudio"})
try:
    import torchaudio.functional as F
    import torchaudio.transforms as T
    from torchaudio._extension import _IS_TORCHAUDIO_EXT_AVAILABLE as _HAS_LIBRARY
except OSError as error:
    disable_torch_proxy(_token)
    pytest.skip(f"torchaudio's library does not load here: {error}", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


rng = np.random.default_rng(0)
SOUND = rng.standard_normal((2, 4000)) * 0.1


def recursive(x: np.ndarray, a: list[float], b: list[float]) -> np.ndarray:
    """y[n] = (sum b[k] x[n-k] - sum a[k] y[n-k]) / a[0]"""
    y = np.zeros_like(x)
    for n in range(x.shape[-1]):
        total = sum(b[k] * x[:, n - k] for k in range(len(b)) if n >= k)
        y[:, n] = (total - sum(a[k] * y[:, n - k] for k in range(1, len(a)) if n >= k)) / a[0]
    return y


def test_the_library_is_loaded():
    assert _HAS_LIBRARY
    assert "_lfilter_core_loop" in dir(torch.ops.torchaudio)


def test_lfilter_against_numpy():
    a, b = [1.0, -0.5, 0.2], [0.5, 0.3, 0.1]
    found = F.lfilter(
        torch.from_numpy(SOUND), torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64), clamp=False
    )
    np.testing.assert_allclose(found.numpy(), recursive(SOUND, a, b), atol=1e-12)


def test_lfilter_gradient():
    x = torch.from_numpy(SOUND[:, :6].copy()).requires_grad_(True)
    a = torch.tensor([1.0, -0.5, 0.2], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([0.5, 0.3, 0.1], dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda *v: F.lfilter(*v, clamp=False), (x, a, b))


def best_path(scores: np.ndarray, tokens: list[int]) -> list[int]:
    """Viterbi over the tokens with blanks (0) between."""
    states = [0]
    for t in tokens:
        states += [t, 0]
    frames = len(scores)
    best = np.full((frames, len(states)), -np.inf)
    back = np.zeros(best.shape, int)
    best[0, 0], best[0, 1] = scores[0, 0], scores[0, states[1]]
    for t in range(1, frames):
        for s in range(len(states)):
            steps = [s] + ([s - 1] if s else [])
            if s > 1 and states[s] and states[s] != states[s - 2]:
                steps.append(s - 2)
            back[t, s] = max(steps, key=lambda k: best[t - 1, k])
            best[t, s] = best[t - 1, back[t, s]] + scores[t, states[s]]
    s = len(states) - 1 if best[-1, -1] > best[-1, -2] else len(states) - 2
    path = [s]
    for t in range(frames - 1, 0, -1):
        path.append(back[t, path[-1]])
    return [states[k] for k in reversed(path)]


def test_forced_align_against_numpy():
    raw = rng.standard_normal((30, 6))
    scores = (raw - np.log(np.exp(raw).sum(-1, keepdims=True))).astype(np.float32)
    tokens = [3, 1, 1, 5]
    path, values = F.forced_align(torch.from_numpy(scores)[None], torch.tensor([tokens], dtype=torch.int32))
    assert path[0].tolist() == best_path(scores, tokens)
    np.testing.assert_allclose(values[0].numpy(), scores[np.arange(30), path[0].tolist()])
    assert [span.token for span in F.merge_tokens(path[0], values[0])] == tokens
    with pytest.raises((RuntimeError, ValueError), match="targets"):
        F.forced_align(torch.from_numpy(scores)[None], torch.tensor([[9]], dtype=torch.int32))


def test_rnnt_loss_against_numpy():
    raw = rng.standard_normal((1, 4, 3, 5)).astype(np.float32)
    target = [1, 2]
    logs = raw[0] - np.log(np.exp(raw[0]).sum(-1, keepdims=True))
    alpha = np.full((4, 3), -np.inf)
    alpha[0, 0] = 0
    for t, u in np.ndindex(4, 3):
        if t:
            alpha[t, u] = np.logaddexp(alpha[t, u], alpha[t - 1, u] + logs[t - 1, u, 4])
        if u:
            alpha[t, u] = np.logaddexp(alpha[t, u], alpha[t, u - 1] + logs[t, u - 1, target[u - 1]])
    expected = -(alpha[3, 2] + logs[3, 2, 4])
    lengths = torch.tensor([4], dtype=torch.int32), torch.tensor([2], dtype=torch.int32)
    found = F.rnnt_loss(torch.from_numpy(raw), torch.tensor([target], dtype=torch.int32), *lengths, blank=4)
    assert float(found) == pytest.approx(expected, rel=1e-5)


def test_overdrive_runs_in_the_library():
    x = torch.from_numpy(SOUND.astype(np.float32))
    y = F.overdrive(x, gain=20, colour=20)
    assert y.shape == x.shape and float(y.abs().max()) <= 1.0 and not torch.equal(x, y)


def test_spectrogram_against_numpy():
    found = T.Spectrogram(n_fft=128, hop_length=64, power=2.0)(torch.from_numpy(SOUND.astype(np.float32)))
    padded = np.pad(SOUND, ((0, 0), (64, 64)), mode="reflect")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(128) / 128)
    frames = np.stack([padded[:, i : i + 128] * window for i in range(0, padded.shape[1] - 127, 64)], 1)
    expected = np.abs(np.fft.rfft(frames)) ** 2
    np.testing.assert_allclose(found.numpy(), expected.transpose(0, 2, 1), rtol=1e-3, atol=1e-4)


def test_inverse_spectrogram():
    x = torch.from_numpy(SOUND)
    s = T.Spectrogram(n_fft=128, power=None, window_fn=lambda n: torch.hann_window(n, dtype=torch.float64))(x)
    back = T.InverseSpectrogram(n_fft=128, window_fn=lambda n: torch.hann_window(n, dtype=torch.float64))(s, 4000)
    np.testing.assert_allclose(back.numpy()[:, :3900], SOUND[:, :3900], atol=1e-9)


def test_functionals_by_value():
    x = torch.from_numpy(SOUND)
    full = np.stack([np.convolve(c, c[:50]) for c in SOUND])
    np.testing.assert_allclose(F.convolve(x, x[:, :50]).numpy(), full, atol=1e-12)
    np.testing.assert_allclose(F.fftconvolve(x, x[:, :50]).numpy(), full, atol=1e-12)
    decoded = F.mu_law_decoding(F.mu_law_encoding(x.float(), 256), 256)
    assert float((decoded - x.float()).abs().max()) < 0.03
    tone = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    half = F.resample(torch.from_numpy(tone), 16000, 8000).numpy()
    np.testing.assert_allclose(half[100:-100], tone[::2][100:-100], atol=2e-3)
    assert F.edit_distance("kitten", "sitting") == 3


@pytest.mark.parametrize(
    "make", [lambda: T.MelSpectrogram(8000, n_mels=20), lambda: T.MFCC(8000, n_mfcc=10, melkwargs={"n_mels": 20})]
)
def test_feature_layers(make):
    y = make()(torch.from_numpy(SOUND.astype(np.float32)))
    assert y.dim() == 3 and bool(y.isfinite().all())
