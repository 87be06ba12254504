"""Attention layers as single operators; values and texts are PyTorch's."""

from __future__ import annotations

import pytest

import shim_torch as torch

D, H, B, T = 4, 2, 2, 3
W, BIAS = torch.arange(48.0).reshape(12, 4) / 50 - 0.5, torch.arange(12.0) / 10
PW, PB = torch.arange(16.0).reshape(4, 4) / 20 - 0.3, torch.arange(4.0) / 5
Q = torch.arange(24.0).reshape(B, T, D) / 10 - 1
ARGS = (D, H, W, BIAS, PW, PB)
PADDING = torch.tensor([[False, False, True], [False, True, True]])
LATER = torch.ones(3, 3, dtype=torch.bool).triu(1)
attention = torch._native_multi_head_attention


@pytest.mark.parametrize(
    ("more", "output", "weights"),
    [
        ((), [-0.3765, 0.1598, 0.6962, 1.2325, -0.3912, 0.1535], [0.3798, 0.3245, 0.2958, 0.3557, 0.3305, 0.3138]),
        (
            (PADDING, True, True, 1),
            [-0.2015, 0.1579, 0.5173, 0.8767, -0.2071, 0.1555],
            [0.5321, 0.4679, 0.0, 0.5158, 0.4842, 0.0],
        ),
        (
            (LATER, True, True, 0),
            [-0.0196, 0.1596, 0.3388, 0.518, -0.2071, 0.1555],
            [1.0, 0.0, 0.0, 0.5158, 0.4842, 0.0],
        ),
    ],
)
def test_self_attention(more, output, weights):
    found = attention(Q, Q, Q, *ARGS, *more)
    assert found[0].flatten()[:6].tolist() == pytest.approx(output, abs=1e-4)
    assert found[1].shape == (B, T, T) and found[1].flatten()[:6].tolist() == pytest.approx(weights, abs=1e-4)


def test_other_keys_and_weights_by_head():
    found = attention(Q, Q.flip(1), Q * 2, *ARGS, None, True, False)
    assert found[0].flatten()[:4].tolist() == pytest.approx([-0.0377, 0.1312, 0.3001, 0.469], abs=1e-4)
    assert found[1].shape == (B, H, T, T) and found[1].flatten()[:3].tolist() == pytest.approx(
        [0.2156, 0.3173, 0.4671], abs=1e-4
    )
    assert attention(Q, Q, Q, *ARGS, None, False)[1] is None


def test_projections_scaled():
    q, k, v = torch._transform_bias_rescale_qkv(torch.arange(72.0).reshape(2, 3, 12), BIAS, 2)
    assert q.shape == k.shape == v.shape == (2, 2, 3, 2)
    assert q.flatten()[:4].tolist() == pytest.approx([0.0, 0.7778, 8.4853, 9.2631], abs=1e-4)
    assert k.flatten()[:3].tolist() == pytest.approx([4.4, 5.5, 16.4]) and v.flatten()[:3].tolist() == pytest.approx(
        [8.8, 9.9, 20.8]
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: attention(Q, Q, Q, D, 3, W, BIAS, PW, PB), "`embed_dim` must divide evenly by `num_heads`"),
        (lambda: attention(Q[0], Q[0], Q[0], *ARGS), "expected 3-D `query`, got 2-D tensor"),
        (lambda: attention(Q, Q, Q, 8, H, W, BIAS, PW, PB), "passed-in embed_dim 8 didn't match last dim of query 4"),
        (lambda: attention(Q, Q, Q, D, H, W[:6], BIAS, PW, PB), "expected `qkv_weight` first dim to be 3x embed_dim"),
        (lambda: attention(Q, Q, Q, *ARGS, LATER), "Mask Type should be defined"),
    ],
)
def test_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(norm_first):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(D, H, 8, dropout=0.0, batch_first=True, norm_first=norm_first).eval()
    a = layer.self_attn
    found = torch._transformer_encoder_layer_fwd(
        Q, D, H, a.in_proj_weight, a.in_proj_bias, a.out_proj.weight, a.out_proj.bias, False, norm_first, layer.norm1.eps,
        layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias, layer.linear1.weight, layer.linear1.bias,
        layer.linear2.weight, layer.linear2.bias, PADDING, 1,
    )  # fmt: skip
    torch.testing.assert_close(found, layer(Q, src_key_padding_mask=PADDING))
