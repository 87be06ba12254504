"""Recurrent layers: gradients, state, packed sequences, and what they ask before they run."""

import pytest

import shim_torch as torch
from shim_torch.nn import functional as F


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_devices_are_checked_in_pytorchs_words(layer):
    m, x = layer(4, 5), torch.randn(3, 2, 4)
    with pytest.raises(
        RuntimeError,
        match="^Input and parameter tensors are not at the same device, found input tensor at meta and parameter tensor at cpu$",
    ):
        m(x.to("meta"))
    state = torch.zeros(1, 2, 5, device="meta")
    hx = (state, state) if layer is torch.nn.LSTM else state
    with pytest.raises(
        RuntimeError,
        match="^Input and hidden tensors are not at the same device, found input tensor at cpu and hidden tensor at meta$",
    ):
        m(x, hx)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, [3, 2])
    with pytest.raises(RuntimeError, match="^Input and hidden tensors are not at the same device"):
        m(packed, hx)


def test_lstm_steps():
    lstm = torch.nn.LSTM(3, 4, 2, bidirectional=True).double()
    x = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    h, c = torch.randn(2, 4, 2, 4, dtype=torch.float64)
    params = [x, *lstm.parameters()]
    assert torch.autograd.gradcheck(lambda t, *_: lstm(t, (h, c))[0], params, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda t, *_: lstm(t, (h, c))[1][1], params, fast_mode=True)
    cell = torch.nn.LSTMCell(3, 4)
    a, b = cell(torch.randn(2, 3))
    one, two = cell(torch.randn(3))
    assert a.shape == b.shape == (2, 4) and one.shape == two.shape == (4,)
    single = torch.nn.LSTM(3, 4)
    with torch.no_grad():
        (y, (last, _)) = single(torch.randn(6, 1, 3))
    assert torch.equal(y[-1], last[0]) and F.cosine_similarity(y[0], y[0]).item() == pytest.approx(1, abs=1e-5)
