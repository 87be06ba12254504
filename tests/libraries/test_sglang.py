"""SGLang's Triton attention over our torch, in Triton's interpreter, beside plain attention.

``pip install --no-deps sglang==0.5.23`` and what its kernels' modules import; skipped without.
"""

from __future__ import annotations

import importlib.util

import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

if any(importlib.util.find_spec(name) is None for name in ("sglang", "triton", "orjson")):
    pytest.skip("sglang is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("small shapes for Triton's interpreter", allow_module_level=True)

_token = enable_torch_proxy({"sglang"})


@pytest.fixture(scope="module", autouse=True)
def proxy():
    yield
    disable_torch_proxy(_token)


HEADS, KEY_HEADS, WIDTH = 4, 2, 16


def exact(q, k, v, causal):
    """[queries, heads, width] over [keys, key heads, width]; the last query sees all keys."""
    k, v = (t.repeat_interleave(HEADS // KEY_HEADS, 1) for t in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) / WIDTH**0.5
    if causal:
        allowed = torch.ones(q.shape[0], k.shape[0], dtype=torch.bool).tril(k.shape[0] - q.shape[0])
        scores = scores.masked_fill(~allowed, float("-inf"))
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v)


def test_decode():
    from sglang.kernels.ops.attention.decode_attention import decode_attention_fwd

    torch.manual_seed(0)
    lengths = [7, 70]
    q = torch.randn(2, HEADS, WIDTH)
    k, v = (torch.randn(100, KEY_HEADS, WIDTH) for _ in range(2))
    places = torch.randperm(100)[: sum(lengths)]
    starts = torch.tensor([0, lengths[0], sum(lengths)], dtype=torch.int32)
    splits = 4
    out, logits = torch.empty_like(q), torch.empty(2, HEADS, splits, WIDTH)
    decode_attention_fwd(
        q, k, v, out, starts, places, logits, torch.empty(2, HEADS, splits),
        torch.full((2,), splits, dtype=torch.int32), splits, WIDTH**-0.5, 1.0, 1.0,
    )  # fmt: skip
    for n in range(2):
        rows = places[starts[n] : starts[n + 1]]
        torch.testing.assert_close(out[n : n + 1], exact(q[n : n + 1], k[rows], v[rows], False), rtol=1e-4, atol=1e-4)


def test_prefill():
    from sglang.kernels.ops.attention.prefill_attention import context_attention_fwd

    torch.manual_seed(1)
    lengths = [5, 20]
    q = torch.randn(sum(lengths), HEADS, WIDTH)
    k, v = (torch.randn(sum(lengths), KEY_HEADS, WIDTH) for _ in range(2))
    out = torch.empty_like(q)
    context_attention_fwd(q, k, v, out, torch.tensor([0, 5]), torch.tensor(lengths), max(lengths))
    for start, length in zip([0, 5], lengths):
        rows = slice(start, start + length)
        torch.testing.assert_close(out[rows], exact(q[rows], k[rows], v[rows], True), rtol=1e-4, atol=1e-4)


def test_extend_over_a_prefix():
    from sglang.kernels.ops.attention.extend_attention import extend_attention_fwd

    torch.manual_seed(2)
    prefix, extend = 9, 6
    buffers = [torch.randn(prefix, KEY_HEADS, WIDTH) for _ in range(2)]
    q = torch.randn(extend, HEADS, WIDTH)
    k, v = (torch.randn(extend, KEY_HEADS, WIDTH) for _ in range(2))
    out = torch.empty_like(q)
    numbers = [torch.tensor(n, dtype=torch.int32) for n in ([0, extend], [0, prefix], list(range(prefix)))]
    extend_attention_fwd(q, k, v, out, *buffers, *numbers, None, True, None, extend, 1.0, 1.0)
    keys, values = (torch.cat([b, t]) for b, t in zip(buffers, (k, v)))
    torch.testing.assert_close(out, exact(q, keys, values, True), rtol=1e-4, atol=1e-4)
