"""Attention over packed sequences: each sequence's is scaled_dot_product_attention of it alone."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.nn.attention.varlen import AuxRequest, varlen_attn, varlen_attn_out
from shim_torch.nn.functional import scaled_dot_product_attention

Q, K = [0, 2, 5, 9], [0, 3, 4, 10]


def packed(heads: int = 4, kv: int = 4, grad: bool = False) -> list[torch.Tensor]:
    torch.manual_seed(0)
    found = [
        torch.randn(n, h, 8, dtype=torch.float64, requires_grad=grad)
        for n, h in ((Q[-1], heads), (K[-1], kv), (K[-1], kv))
    ]
    return [*found, torch.tensor(Q, dtype=torch.int32), torch.tensor(K, dtype=torch.int32)]


def alone(q, k, v, window=(-1, -1), scale=None, used=None):
    """Sequence by sequence, with a mask written out."""
    out = []
    for i in range(len(Q) - 1):
        a, b = q[Q[i] : Q[i + 1]], slice(K[i], K[i + 1] if used is None else K[i] + used[i])
        keys, values = (t[b].repeat_interleave(q.size(1) // t.size(1), 1) for t in (k, v))
        at = torch.arange(a.size(0)).unsqueeze(1) + keys.size(0) - a.size(0)
        to = torch.arange(keys.size(0))
        seen = torch.ones(a.size(0), keys.size(0), dtype=torch.bool)
        seen = seen & (to >= at - window[0]) if window[0] >= 0 else seen
        seen = seen & (to <= at + window[1]) if window[1] >= 0 else seen
        heads = (t.transpose(0, 1) for t in (a, keys, values))
        found = scaled_dot_product_attention(*heads, attn_mask=seen, scale=scale).transpose(0, 1)
        out.append(torch.where(seen.any(1)[:, None, None], found, torch.zeros_like(found)))
    return torch.cat(out)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (2, 0), (1, 1)])
@pytest.mark.parametrize("kv", [4, 2])
def test_values_and_gradients(window, kv):
    q, k, v, cq, ck = packed(kv=kv, grad=True)
    out, lse = varlen_attn(
        q, k, v, cq, ck, 4, 6, window_size=window, enable_gqa=kv != 4, scale=0.3, return_aux=AuxRequest(lse=True)
    )
    want = alone(q, k, v, window, 0.3)
    torch.testing.assert_close(out, want)
    assert lse.shape == (4, Q[-1])
    weights = torch.randn_like(out)
    found = torch.autograd.grad((out * weights).sum(), (q, k, v))
    torch.testing.assert_close(found, torch.autograd.grad((want * weights).sum(), (q, k, v)))
    into = torch.empty_like(out)
    with torch.no_grad():
        assert varlen_attn_out(into, q, k, v, cq, ck, 4, 6, window_size=window, enable_gqa=kv != 4, scale=0.3) is into
    torch.testing.assert_close(into, out)


def test_logsumexp():
    q, k, v, cq, ck = packed()
    _, lse = varlen_attn(q, k, v, cq, ck, 4, 6, scale=1.0, return_aux=AuxRequest(lse=True))
    scores = torch.einsum("qhd,khd->hqk", q[2:5], k[3:4])
    torch.testing.assert_close(lse[:, 2:5], scores.logsumexp(-1).to(lse.dtype))


def test_caches():
    q, k, v, cq, ck = packed()
    used = torch.tensor([2, 1, 5], dtype=torch.int32)
    want = alone(q, k, v, used=used.tolist())
    torch.testing.assert_close(varlen_attn(q, k, v, cq, ck, 4, 6, seqused_k=used), want)
    pages, table = [torch.full((7, 2, 4, 8), float("nan"), dtype=torch.float64) for _ in range(2)], []
    free = iter([3, 0, 6, 2, 5, 1])
    for i in range(3):  # pages of two tokens, in any order
        row = [next(free) if 2 * j < K[i + 1] - K[i] else 4 for j in range(3)]
        for j, page in enumerate(row):
            for token in range(K[i] + 2 * j, min(K[i] + 2 * j + 2, K[i + 1])):
                for pool, from_ in zip(pages, (k, v), strict=True):
                    pool[page, (token - K[i]) % 2] = from_[token]
        table.append(row)
    out = varlen_attn(q, *pages, cq, None, 4, 6, seqused_k=used, block_table=torch.tensor(table, dtype=torch.int32))
    torch.testing.assert_close(out, want)


def test_refused():
    q, k, v, cq, ck = packed(kv=2)
    with pytest.raises(ValueError, match="same number of heads but got Hq=4 and Hkv=2. Try setting enable_gqa=True"):
        varlen_attn(q, k, v, cq, ck, 4, 6)
    with pytest.raises(ValueError, match="to be a multiple of kv heads for GQA but got Hq=3 and Hkv=2"):
        varlen_attn(q[:, :3], k, v, cq, ck, 4, 6, enable_gqa=True)
    q, k, v, cq, ck = packed(grad=True)
    with pytest.raises(RuntimeError, match="seqused_k is an inference-only parameter"):
        varlen_attn(q, k, v, cq, ck, 4, 6, seqused_k=torch.tensor([1, 1, 1], dtype=torch.int32))


def test_shapes_alone():
    q, k, v, cq, ck = (t.to("meta") for t in packed())
    out, lse = varlen_attn(q, k, v, cq, ck, 4, 6, return_aux=AuxRequest(lse=True))
    assert out.shape == (9, 4, 8) and lse.shape == (4, 9) and lse.dtype == torch.float32 and out.device.type == "meta"
