"""Recurrent layers call ``torch._VF``'s functions, so that what a library puts in their place is called (quantization does)."""

import pytest

import shim_torch as torch
from shim_torch import _VF

LAYERS = [
    ("lstm", torch.nn.LSTM(3, 4)),
    ("gru", torch.nn.GRU(3, 4)),
    ("rnn_tanh", torch.nn.RNN(3, 4)),
    ("rnn_relu", torch.nn.RNN(3, 4, nonlinearity="relu")),
]
CELLS = [
    ("lstm_cell", torch.nn.LSTMCell(3, 4)),
    ("gru_cell", torch.nn.GRUCell(3, 4)),
    ("rnn_tanh_cell", torch.nn.RNNCell(3, 4)),
]


@pytest.mark.parametrize(("name", "layer"), LAYERS + CELLS, ids=[name for name, _ in LAYERS + CELLS])
def test_the_function_in_its_place_is_called(name, layer, monkeypatch):
    x = torch.randn(2, 5, 3) if (name, layer) in LAYERS else torch.randn(5, 3)
    expected, function, calls = layer(2 * x), getattr(_VF, name), []

    def doubled(input, *rest):
        calls.append(len(rest))
        return function(2 * input, *rest)

    monkeypatch.setattr(_VF, name, doubled, raising=False)
    torch.testing.assert_close(layer(x), expected)
    assert calls == [8 if (name, layer) in LAYERS else 5]


def test_of_packed_sequences_too(monkeypatch):
    layer, function, calls = torch.nn.LSTM(3, 4), _VF.lstm, []

    def counted(input, sizes, *rest):
        calls.append((sizes.tolist(), len(rest)))
        return function(input, sizes, *rest)

    monkeypatch.setattr(_VF, "lstm", counted, raising=False)
    packed = torch.nn.utils.rnn.pack_sequence([torch.randn(3, 3), torch.randn(2, 3)])
    layer(packed)
    assert calls == [([2, 2, 1], 7)]
