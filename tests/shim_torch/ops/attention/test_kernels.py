"""A mask and causality together: both hide where PyTorch's kernel of the CPU runs, elsewhere they are refused."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch
import shim_torch.nn.functional as F

G = np.random.default_rng(3)
Q = G.standard_normal((1, 2, 4, 8)).astype(np.float32)
K = G.standard_normal((1, 2, 6, 8)).astype(np.float32)


def expected(q, k, shift):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(8) + shift
    s = np.where(np.tril(np.ones(s.shape[-2:])) > 0, s, -np.inf)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ k


def test_both_masks_hide():
    shift = G.standard_normal((4, 6)).astype(np.float32)
    q, k = torch.tensor(Q), torch.tensor(K)
    found = F.scaled_dot_product_attention(q, k, k, attn_mask=torch.tensor(shift), is_causal=True)
    np.testing.assert_allclose(found.numpy(), expected(Q, K, shift), rtol=1e-4, atol=1e-5)
    keep = G.random((1, 1, 4, 6)) > 0.4
    keep[..., 0] = True
    found = F.scaled_dot_product_attention(q, k, k, attn_mask=torch.tensor(keep), is_causal=True)
    np.testing.assert_allclose(found.numpy(), expected(Q, K, np.where(keep, 0, -np.inf)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", ["three dimensions", "dropout", "a mask that learns", "flash switched off"])
def test_refused_elsewhere(case):
    q, mask = torch.tensor(Q), torch.zeros(4, 4, requires_grad=case == "a mask that learns")
    if case == "three dimensions":
        q = q[0]
    before = torch.backends.cuda.flash_sdp_enabled()
    try:
        torch.backends.cuda.enable_flash_sdp(case != "flash switched off")
        with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal=True"):
            F.scaled_dot_product_attention(q, q, q, mask, 0.1 if case == "dropout" else 0.0, is_causal=True)
    finally:
        torch.backends.cuda.enable_flash_sdp(before)


@pytest.mark.parametrize("each_head", [False, True])
def test_merge_masks(each_head):
    attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    query = torch.randn(3, 4, 8)
    padding = torch.tensor([[0.0, 0, 0, -1], [0, 0, -1, -1], [0, 0, 0, 0]])
    mask = torch.arange(96.0).reshape(6, 4, 4) if each_head else torch.arange(16.0).reshape(4, 4)
    assert attention.merge_masks(None, None, query) == (None, None)
    found, kind = attention.merge_masks(None, padding, query)
    assert found is padding and kind == 1
    whole = mask.reshape(3, 2, 4, 4) if each_head else mask.expand(3, 2, 4, 4)
    found, kind = attention.merge_masks(mask, None, query)
    assert kind == 2 and torch.equal(found, whole)
    found, kind = attention.merge_masks(mask, padding, query)
    assert kind == 2 and torch.equal(found, whole + padding[:, None, None])
