"""Padded positions of ``TransformerEncoder``: zeros for inference, as where PyTorch packs the others. Values are PyTorch 2.13's."""

import pytest

import shim_torch as torch

nn = torch.nn
ENDS = [[False, False, True], [False, True, True]]
ZEROS = [[0.738, 1.563, 0.0], [-1.286, 0.0, 0.0]]
KEPT = [[0.738, 1.563, -0.122], [-1.286, 0.497, 0.351]]


def _first_features(padding, grad=False, norm=None, frozen=False, train=False, **settings):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    model = nn.TransformerEncoder(layer, 2, norm=norm, **settings).train(train).requires_grad_(not frozen)
    with torch.set_grad_enabled(grad):
        out = model(torch.arange(48.0).reshape(2, 3, 8).sin(), src_key_padding_mask=padding)
    return out[..., 0].detach()


def _close(got, wanted):
    torch.testing.assert_close(got, torch.tensor(wanted), atol=6e-4, rtol=0)


def test_zeros_for_inference():
    padding = torch.tensor(ENDS)
    _close(_first_features(padding), ZEROS)
    _close(_first_features(padding, grad=True, frozen=True), ZEROS)
    _close(_first_features(torch.where(padding, -torch.inf, 0.0)), ZEROS)
    norm = nn.LayerNorm(8)
    norm.bias.data.fill_(0.5)
    _close(_first_features(padding, norm=norm), [[1.238, 2.063, 0.5], [-0.786, 0.5, 0.5]])
    _close(_first_features(torch.tensor([ENDS[0], [True] * 3])), [ZEROS[0], [0.0] * 3])


@pytest.mark.parametrize("settings", [{"grad": True}, {"enable_nested_tensor": False}, {"train": True}])
def test_values_elsewhere(settings):
    _close(_first_features(torch.tensor(ENDS), **settings), KEPT)


def test_values_where_padding_is_no_end():
    _close(_first_features(~torch.tensor(ENDS)), [[-0.502, 0.741, -0.549], [-0.333, 1.2, 1.578]])
