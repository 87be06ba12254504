"""SGLang's Triton attention beside plain attention, on a GPU or in Triton's interpreter."""

from __future__ import annotations

import shim_torch as torch

ON_GPU = torch.cuda.is_available()
DEVICE, DTYPE = ("cuda", torch.float16) if ON_GPU else ("cpu", torch.float32)
HEADS, KEY_HEADS, WIDTH = (8, 2, 64) if ON_GPU else (4, 2, 16)
LENGTHS = (70, 600) if ON_GPU else (7, 70)


def drawn(*shape):
    return torch.randn(*shape, device=DEVICE, dtype=DTYPE)


def numbers(values, dtype=torch.int32):
    return torch.tensor(values, device=DEVICE, dtype=dtype)


def exact(q, k, v, causal):
    """[queries, heads, width] over [keys, key heads, width]; the last query sees all keys."""
    q, k, v = (t.float() for t in (q, k, v))
    k, v = (t.repeat_interleave(HEADS // KEY_HEADS, 1) for t in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) / WIDTH**0.5
    if causal:
        allowed = torch.ones(q.shape[0], k.shape[0], dtype=torch.bool, device=DEVICE).tril(k.shape[0] - q.shape[0])
        scores = scores.masked_fill(~allowed, float("-inf"))
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v)


def close(found, right):
    tolerance = 4e-3 if ON_GPU else 1e-4
    torch.testing.assert_close(found.float(), right, rtol=tolerance, atol=tolerance)


def check_decode():
    from sglang.kernels.ops.attention.decode_attention import decode_attention_fwd

    torch.manual_seed(0)
    total = sum(LENGTHS)
    q = drawn(2, HEADS, WIDTH)
    k, v = (drawn(total + 30, KEY_HEADS, WIDTH) for _ in range(2))
    places = torch.randperm(total + 30, device=DEVICE)[:total]
    ends = [0, LENGTHS[0], total]
    splits = 4
    out = torch.empty_like(q)
    logits = torch.empty(2, HEADS, splits, WIDTH, device=DEVICE)
    decode_attention_fwd(
        q, k, v, out, numbers(ends), places, logits, torch.empty(2, HEADS, splits, device=DEVICE),
        numbers([splits, splits]), splits, WIDTH**-0.5, 1.0, 1.0,
    )  # fmt: skip
    for n in range(2):
        rows = places[ends[n] : ends[n + 1]]
        close(out[n : n + 1], exact(q[n : n + 1], k[rows], v[rows], False))


def check_prefill():
    from sglang.kernels.ops.attention.prefill_attention import context_attention_fwd

    torch.manual_seed(1)
    starts, lengths = ([0, 50], [50, 200]) if ON_GPU else ([0, 5], [5, 20])
    q = drawn(sum(lengths), HEADS, WIDTH)
    k, v = (drawn(sum(lengths), KEY_HEADS, WIDTH) for _ in range(2))
    out = torch.empty_like(q)
    context_attention_fwd(q, k, v, out, numbers(starts, torch.int64), numbers(lengths, torch.int64), max(lengths))
    for start, length in zip(starts, lengths):
        rows = slice(start, start + length)
        close(out[rows], exact(q[rows], k[rows], v[rows], True))


def check_extend_over_a_prefix():
    from sglang.kernels.ops.attention.extend_attention import extend_attention_fwd

    torch.manual_seed(2)
    prefix, extend = (90, 70) if ON_GPU else (9, 6)
    buffers = [drawn(prefix, KEY_HEADS, WIDTH) for _ in range(2)]
    q = drawn(extend, HEADS, WIDTH)
    k, v = (drawn(extend, KEY_HEADS, WIDTH) for _ in range(2))
    out = torch.empty_like(q)
    tables = [numbers(n) for n in ([0, extend], [0, prefix], list(range(prefix)))]
    extend_attention_fwd(q, k, v, out, *buffers, *tables, None, True, None, extend, 1.0, 1.0)
    keys, values = (torch.cat([b, t]) for b, t in zip(buffers, (k, v)))
    close(out, exact(q, keys, values, True))


CHECKS = [check_decode, check_prefill, check_extend_over_a_prefix]
