"""torch.nn.attention.flex_attention; the expected numbers were computed by PyTorch 2.13."""

from __future__ import annotations

import math

import numpy as np
import pytest

import shim_torch as torch
from shim_torch.nn.attention import SDPBackend, flex_attention, sdpa_kernel

f = flex_attention


def _qkv():
    rng = np.random.default_rng(0)
    return [torch.from_numpy(rng.standard_normal((2, 4, 10, 8)).astype("f4")) for _ in range(3)]


def test_block_mask():
    mask = f.create_block_mask(lambda b, h, q, k: q >= k, None, None, 300, 300, device="cpu", BLOCK_SIZE=128)
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 3]]]
    assert mask.kv_indices.tolist() == [[[[0, 1, 2], [1, 0, 2], [0, 1, 2]]]]
    assert mask.full_kv_num_blocks.tolist() == [[[0, 1, 0]]]
    assert mask.q_num_blocks.tolist() == [[[2, 2, 1]]]
    assert mask.q_indices.tolist() == [[[[0, 2, 1], [1, 2, 0], [2, 0, 1]]]]
    assert mask.full_q_indices.tolist() == [[[[1, 0, 2], [0, 1, 2], [0, 1, 2]]]]
    assert mask.kv_indices.dtype == torch.int32
    assert mask.shape == (1, 1, 300, 300)
    assert mask.to_dense().tolist() == [[[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]]
    assert mask.sparsity() == pytest.approx(-9.22666667)
    assert mask.to("cpu").kv_indices.tolist() == mask.kv_indices.tolist()
    assert mask[0].shape == (1, 1, 300, 300)


def test_scores_and_masks():
    q, k, v = _qkv()
    docs = torch.tensor([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
    both = f.and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: docs[q] == docs[k])
    mask = f.create_block_mask(both, None, None, 10, 10, device="cpu", BLOCK_SIZE=4)
    out, lse = f.flex_attention(
        q, k, v, score_mod=lambda s, b, h, i, j: s + (i - j) * 0.1 * (h + 1), block_mask=mask, return_lse=True
    )
    expected = [0.6537, -0.0515, -0.4653, -1.7477, 0.1559, -0.6917, -0.1319, 0.6710, 0.6603, -0.0212, -0.3583, -1.6331]
    np.testing.assert_allclose(out.numpy().ravel()[:12], expected, atol=6e-5)
    np.testing.assert_allclose(lse.numpy().ravel()[:6], [-0.7503, 1.2182, 0.5178, -0.3107, 1.1143, 2.2845], atol=6e-5)
    assert out.sum().item() == pytest.approx(-7.326856, abs=1e-4)


def test_plain_is_scaled_dot_product_attention():
    q, k, v = _qkv()
    np.testing.assert_allclose(
        f.flex_attention(q, k, v).numpy(),
        torch.nn.functional.scaled_dot_product_attention(q, k, v).numpy(),
        rtol=1e-4,
        atol=1e-5,
    )


def test_grouped_heads_and_gradients():
    q, k, v = _qkv()
    k, v = k[:, :2], v[:, :2]
    with pytest.raises(ValueError, match="Try setting enable_gqa=True"):
        f.flex_attention(q, k, v)
    q.requires_grad_()
    out = f.flex_attention(q, k, v, enable_gqa=True)
    wide = f.flex_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    np.testing.assert_array_equal(out.detach().numpy(), wide.detach().numpy())
    out.sum().backward()
    assert q.grad.shape == q.shape
    assert not torch.isnan(q.grad).any()


def test_rows_with_nothing_left_are_zero():
    q, k, v = _qkv()
    mask = f.create_block_mask(lambda b, h, q, k: q > 0, None, None, 10, 10, device="cpu")
    out, lse = f.flex_attention(q, k, v, block_mask=mask, return_lse=True)
    assert (out[:, :, 0] == 0).all()
    assert lse[0, 0, 0].item() == -math.inf


def test_sdpa_kernel_switches():
    enabled = torch.backends.cuda.flash_sdp_enabled
    assert enabled()
    with sdpa_kernel(SDPBackend.MATH):
        assert not enabled()
        assert torch.backends.cuda.math_sdp_enabled()
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        assert enabled()
        assert not torch.backends.cuda.mem_efficient_sdp_enabled()
    assert enabled()
