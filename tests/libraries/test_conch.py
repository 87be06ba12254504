"""The stock conch-triton-kernels and triton-kernels wheels over our torch, on the CPU, against NumPy."""

from __future__ import annotations

import importlib.util
import math

import ml_dtypes
import numpy as np
import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if importlib.util.find_spec("conch") is None or importlib.util.find_spec("triton") is None:
    pytest.skip("conch-triton-kernels is not installed (make test installs it)", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("small shapes for Triton's interpreter", allow_module_level=True)

_token = enable_torch_proxy({"conch", "triton_kernels"})
from conch.ops.activation.gelu_tanh_and_mul import gelu_tanh_and_mul
from conch.ops.activation.silu_and_mul import silu_and_mul
from conch.ops.attention.paged_attention import paged_attention
from conch.ops.attention.varlen_attention import varlen_attention
from conch.ops.embedding.rotary_embedding import rotary_embedding
from conch.ops.normalization.gemma_rms_norm import gemma_rms_norm
from conch.ops.normalization.rms_norm import fused_add_rms_norm, rms_norm
from conch.ops.quantization.bitsandbytes.functional import dequantize_blockwise, quantize_blockwise
from conch.ops.quantization.fp8 import scaled_fp8_quant
from conch.ops.quantization.int8 import scaled_int8_quant
from conch.ops.vision.bev_pool import bev_pool
from conch.ops.vision.nms import nms
from conch.ops.vllm.copy_blocks import copy_blocks
from conch.ops.vllm.reshape_and_cache import reshape_and_cache


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


FLOATS = [("float32", 1e-5), ("float16", 3e-3), ("bfloat16", 3e-2)]
rng = np.random.default_rng(0)


def tensor(array: np.ndarray, dtype: str = "float32") -> torch.Tensor:
    return torch.tensor(array).to(getattr(torch, dtype))


def exact(t: torch.Tensor) -> np.ndarray:
    return t.double().numpy()


def close(ours: torch.Tensor, theirs: np.ndarray, tolerance: float) -> None:
    assert tuple(ours.shape) == theirs.shape
    np.testing.assert_allclose(exact(ours), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype, tolerance", FLOATS)
def test_activations(dtype, tolerance):
    x = tensor(rng.standard_normal((3, 16)), dtype)
    a, b = exact(x)[:, :8], exact(x)[:, 8:]
    close(silu_and_mul(x), a / (1 + np.exp(-a)) * b, tolerance)
    if dtype != "float32":
        return  # conch calls libdevice.tanh with x's dtype, and CUDA's has float32 and float64 only
    gelu = 0.5 * a * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
    close(gelu_tanh_and_mul(x), gelu * b, tolerance)


@pytest.mark.parametrize("dtype, tolerance", FLOATS)
def test_norms(dtype, tolerance):
    x, w, r = (tensor(rng.standard_normal(shape), dtype) for shape in ((3, 16), (16,), (3, 16)))

    def norm(values, weight):
        return values / np.sqrt((values**2).mean(-1, keepdims=True) + 1e-6) * weight

    close(rms_norm(x, w, 1e-6), norm(exact(x), exact(w)), tolerance)
    close(gemma_rms_norm(x.clone(), w, 1e-6), norm(exact(x), 1 + exact(w)), tolerance * 2)
    total = exact(x) + exact(r)
    y, residual = fused_add_rms_norm(x.clone(), r.clone(), w, 1e-6)
    close(residual, total, tolerance)
    close(y, norm(total, exact(w)), tolerance * 2)


def test_rotary_embedding():
    tokens, heads, size = 4, 2, 16
    positions = torch.tensor([0, 3, 1, 7])
    angle = np.outer(np.arange(8), 1 / 100 ** (np.arange(0, size, 2) / size))
    cache = tensor(np.concatenate([np.cos(angle), np.sin(angle)], -1))
    query, key = (tensor(rng.standard_normal((tokens, heads * size))) for _ in range(2))

    def turned(x):
        x = exact(x).reshape(tokens, heads, size)
        cos, sin = np.cos(angle)[[0, 3, 1, 7], None], np.sin(angle)[[0, 3, 1, 7], None]
        first, second = x[..., : size // 2], x[..., size // 2 :]
        return np.concatenate([first * cos - second * sin, second * cos + first * sin], -1).reshape(tokens, -1)

    expected = turned(query), turned(key)
    for ours, theirs in zip(rotary_embedding(positions, query, key, size, cache), expected):
        close(ours, theirs, 1e-5)


def test_quantization():
    x, scale = tensor(rng.standard_normal((3, 16)) * 4), torch.tensor([0.05])
    quantized, _ = scaled_int8_quant(x, scale)
    assert quantized.dtype == torch.int8
    difference = np.abs(exact(quantized) - np.clip(exact(x) / np.float32(0.05), -128, 127))
    assert difference.max() < 1  # to nearest or toward zero, as conch chooses
    quantized, _ = scaled_fp8_quant(x, scale)
    expected = (x.numpy() * np.float32(1 / 0.05)).astype(ml_dtypes.float8_e4m3fn).astype(np.float64)
    np.testing.assert_allclose(exact(quantized), expected, rtol=0.125)  # one step


def paged(lengths, block, blocks, kv_heads, size):
    """Keys and values in a cache of blocks: (key cache, value cache, table, the keys and values of each sequence)."""
    caches = [rng.standard_normal((blocks, block, kv_heads, size)) for _ in range(2)]
    table = rng.permutation(blocks)[: len(lengths) * 2].reshape(len(lengths), 2)
    rows = [[np.concatenate(c[table[i]])[:n] for c in caches] for i, n in enumerate(lengths)]
    return tensor(caches[0]), tensor(caches[1]), torch.tensor(table).int(), rows


def attend(q, k, v, causal=False):
    """q (queries, heads, size), k and v (keys, kv heads, size)."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1])
    if causal:
        late = np.arange(k.shape[0])[None] > np.arange(q.shape[0])[:, None] + k.shape[0] - q.shape[0]
        scores = np.where(late, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)


def test_paged_attention():
    lengths, heads, kv_heads, size = [5, 13], 4, 2, 32
    keys, values, table, rows = paged(lengths, 16, 6, kv_heads, size)
    q = tensor(rng.standard_normal((2, heads, size)))
    out = paged_attention(q, keys, values, table, torch.tensor(lengths).int(), scale=1 / math.sqrt(size))
    expected = np.concatenate([attend(exact(q)[i : i + 1], *rows[i]) for i in range(2)])
    close(out, expected, 1e-4)


def test_varlen_attention():
    lengths, heads, kv_heads, size = [7, 18], 2, 2, 32
    keys, values, table, rows = paged(lengths, 16, 6, kv_heads, size)
    q = tensor(rng.standard_normal((sum(lengths), heads, size)))
    out = varlen_attention(
        query=q, key_cache=keys, value_cache=values, block_table=table, seq_lens=torch.tensor(lengths).int(),
        cu_seqlens_q=torch.tensor([0, 7, 25]).int(), max_seqlen_q=18, max_seqlen_k=18,
        causal=True, scale=1 / math.sqrt(size),
    )  # fmt: skip
    parts = np.split(exact(q), [7])
    expected = np.concatenate([attend(parts[i], *rows[i], causal=True) for i in range(2)])
    close(out, expected, 1e-4)


def test_caches():
    key, value = (tensor(rng.standard_normal((3, 2, 8))) for _ in range(2))
    key_cache, value_cache = (torch.zeros(4, 4, 2, 8) for _ in range(2))
    reshape_and_cache(key, value, key_cache, value_cache, torch.tensor([5, 0, 15]))
    for cache, given in ((key_cache, key), (value_cache, value)):
        flat = exact(cache).reshape(16, 2, 8)
        np.testing.assert_array_equal(flat[[5, 0, 15]], exact(given))
        assert np.count_nonzero(flat) == 3 * 16
    before = exact(key_cache).copy()
    copy_blocks([key_cache.view(4, -1)], [value_cache.view(4, -1)], torch.tensor([[1, 2]]))
    np.testing.assert_array_equal(exact(key_cache)[2], before[1])


def test_nms():
    boxes = torch.tensor([[0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30], [0, 0, 5, 5], [21, 21, 30, 30.0]])
    scores = torch.tensor([0.8, 0.9, 0.5, 0.4, 0.6])
    assert nms(boxes, scores, 0.5).tolist() == [1, 4, 3]


def test_bev_pool():
    features = tensor(rng.standard_normal((5, 8)))
    places = torch.tensor([[0, 0, 0, 0]] * 2 + [[1, 1, 0, 0]] * 3).int()  # x, y, z, batch
    out = bev_pool(features, places, torch.tensor([0, 2]).int(), torch.tensor([2, 3]).int(), 1, 1, 2, 2)
    values = np.sort(exact(out).reshape(-1, 8).sum(-1))
    expected = np.zeros(4)
    expected[:2] = exact(features)[:2].sum(), exact(features)[2:].sum()
    np.testing.assert_allclose(values, np.sort(expected), atol=1e-5)


@pytest.mark.parametrize("kind", ["nf4", "fp4"])
def test_blockwise_four_bits(kind):
    x = tensor(rng.standard_normal(256))
    packed, state = quantize_blockwise(x, blocksize=64, quant_type=kind)
    assert packed.dtype == torch.uint8
    back = dequantize_blockwise(packed, state, blocksize=64, quant_type=kind)
    most = np.repeat(np.abs(exact(x)).reshape(4, 64).max(-1), 64)
    assert (np.abs(exact(back) - exact(x)) <= most * 0.17).all()  # half the widest step of the code


def test_triton_kernels_wheel():
    import triton_kernels.add_vectors
    import triton_kernels.rotary_embedding

    x, y = torch.randn(100), torch.randn(100)
    out = torch.empty(100)
    triton_kernels.add_vectors.add_vectors[(1,)](x, y, out, 100, BLOCK_SIZE=128)
    assert torch.equal(out, x + y)
