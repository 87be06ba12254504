"""Layers are made on the default device, as factories are; copies go from one device to another."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch import nn

LAYERS = {
    "linear": lambda **k: nn.Linear(3, 4, **k),
    "bilinear": lambda **k: nn.Bilinear(3, 4, 2, **k),
    "embedding": lambda **k: nn.Embedding(5, 3, padding_idx=1, **k),
    "embedding_bag": lambda **k: nn.EmbeddingBag(5, 3, **k),
    "conv": lambda **k: nn.Conv2d(3, 4, 3, **k),
    "transposed": lambda **k: nn.ConvTranspose1d(3, 4, 3, **k),
    "batch_norm": lambda **k: nn.BatchNorm2d(3, **k),
    "group_norm": lambda **k: nn.GroupNorm(3, 6, **k),
    "layer_norm": lambda **k: nn.LayerNorm(3, **k),
    "rms_norm": lambda **k: nn.RMSNorm(3, **k),
    "prelu": lambda **k: nn.PReLU(**k),
    "lstm": lambda **k: nn.LSTM(3, 4, **k),
    "gru_cell": lambda **k: nn.GRUCell(3, 4, **k),
    "attention": lambda **k: nn.MultiheadAttention(4, 2, **k),
    "encoder": lambda **k: nn.TransformerEncoderLayer(4, 2, 8, **k),
}


def places(layer):
    return {t.device.type for t in (*layer.parameters(), *layer.buffers())}


@pytest.mark.parametrize("name", LAYERS)
def test_default_device(name):
    with torch.device("meta"):
        assert places(LAYERS[name]()) == {"meta"}
        assert places(LAYERS[name](device="cpu")) == {"cpu"}
    assert places(LAYERS[name](device="meta")) == {"meta"}
    torch.set_default_device("meta")
    try:
        assert places(LAYERS[name]()) == {"meta"}
    finally:
        torch.set_default_device(None)
    assert places(LAYERS[name]()) == {"cpu"}


def test_copies_cross_devices():
    here, there = torch.ones(2, 3), torch.empty(2, 3, device="meta")
    assert there.copy_(here) is there and there.device.type == "meta"
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        here.copy_(there)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        here.add_(there)
