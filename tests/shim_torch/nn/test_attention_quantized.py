"""Attention of float8 tensors with a scale for each head, and masks of one position mapped over all."""

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from shim_torch.nn.attention.experimental._scaled_dot_product_attention_quantized import (
    _scaled_dot_product_attention_quantized as attend,
)


@pytest.mark.parametrize("causal", [False, True])
def test_float8_attention(causal):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, h, 3, 4).to(torch.float8_e4m3fn) for h in (4, 2, 2))
    scales = [torch.rand(2, 2) + 0.5 for _ in range(3)]
    found = attend(q, k, v, is_causal=causal, scale=0.7, q_descale=scales[0], k_descale=scales[1], v_descale=scales[2])
    assert found.dtype == torch.bfloat16
    a, b, c = (
        x.float().numpy() * np.repeat(s.numpy(), x.size(1) // 2, 1)[:, :, None, None]
        for x, s in zip((q, k, v), scales, strict=True)
    )
    b, c = np.repeat(b, 2, 1), np.repeat(c, 2, 1)
    scores = a @ b.swapaxes(2, 3) * 0.7
    if causal:
        scores = np.where(np.tril(np.ones((3, 3), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(3, keepdims=True))
    expected = weights / weights.sum(3, keepdims=True) @ c
    np.testing.assert_allclose(found.float().numpy(), expected, rtol=1e-2, atol=1e-2)


def test_scales_are_checked():
    x = torch.ones(2, 2, 3, 4)
    with pytest.raises(ValueError, match="k_descale head dimension must match num_kv_heads, expected 2, got 3"):
        attend(x, x, x, k_descale=torch.ones(2, 3))
    with pytest.raises(ValueError, match="q_descale must have dtype float32, got torch.float64"):
        attend(x, x, x, q_descale=torch.ones(2, 2).double())


def test_indices_of_no_dims_within_vmap():
    padding = torch.tensor([[True, False, True], [True, True, False]])

    def mask(b, q, kv):
        return padding[b, kv] & (kv <= q)

    mapped = mask
    for dims in ((None, None, 0), (None, 0, None), (0, None, None)):
        mapped = torch.vmap(mapped, in_dims=dims, out_dims=0)
    args = torch.arange(2), torch.arange(3), torch.arange(3)
    with TransformGetItemToIndex():
        found = mapped(*args)
        assert torch.arange(4)[torch.tensor(2)].item() == 2
        assert torch.arange(4)[1:].tolist() == [1, 2, 3]
    expected = padding.numpy()[:, None, :] & np.tril(np.ones((3, 3), bool))
    assert np.array_equal(found.numpy(), expected)
    with pytest.raises(RuntimeError, match="vmap over calling .item"):
        mapped(*args)
