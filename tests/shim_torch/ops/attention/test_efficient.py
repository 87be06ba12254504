"""The operators of memory-efficient attention against plain attention and its gradients."""

import pytest

import shim_torch as torch

aten = torch.ops.aten


def _given(b, lq, lk, h, d, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(b, n, h, d, dtype=torch.float64, requires_grad=True) for n in (lq, lk, lk)]


def _plain(q, k, v, seen, bias=None, scale=0.3):
    """(length, heads, size) attention of the pairs that ``seen`` allows."""
    s = torch.einsum("qhd,khd->hqk", q, k) * scale
    s = s if bias is None else s + bias
    return torch.einsum("hqk,khd->qhd", s.masked_fill(~seen, -torch.inf).softmax(-1), v)


def _seen(lq, lk, kind, window):
    i, j = torch.arange(lq)[:, None] + (lk - lq if kind == 2 else 0), torch.arange(lk)
    seen = torch.ones(lq, lk, dtype=torch.bool)
    if kind:
        seen &= j <= i
    return seen & (j > i - window) if window else seen


@pytest.mark.parametrize(("kind", "window"), [(0, None), (1, None), (2, None), (2, 2)])
def test_dense(kind, window):
    q, k, v = _given(2, 4, 5, 2, 3)
    bias = torch.randn(2, 2, 4, 5, dtype=torch.float64, requires_grad=True)
    out, lse, seed, offset, *longest = aten._efficient_attention_forward(
        q, k, v, bias, None, None, None, None, 0.0, kind, True, scale=0.3, window_size=window
    )
    assert longest == [4, 5]
    seen = _seen(4, 5, kind, window)
    expected = torch.stack([_plain(q[i], k[i], v[i], seen, bias[i]) for i in range(2)])
    torch.testing.assert_close(out, expected)
    g = torch.randn_like(out)
    wanted = torch.autograd.grad(expected, (q, k, v, bias), g)
    with torch.no_grad():
        found = aten._efficient_attention_backward(
            g, q, k, v, bias, out, None, None, 4, 5, lse, 0.0, seed, offset, kind, True, scale=0.3, window_size=window
        )
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_packed_sequences_with_unused_keys():
    q, k, v = _given(1, 5, 8, 2, 3)
    cum_q, cum_k = torch.tensor([0, 2, 5], dtype=torch.int32), torch.tensor([0, 4, 8], dtype=torch.int32)
    used = torch.tensor([3, 4], dtype=torch.int32)
    out, lse, *_ = aten._efficient_attention_forward(
        q, k, v, None, cum_q, cum_k, 3, 4, 0.0, 0, True, scale=0.3, seqlen_k=used
    )
    parts = [((0, 2), (0, 3)), ((2, 5), (4, 8))]
    expected = torch.cat(
        [
            _plain(q[0, a:b], k[0, c:d], v[0, c:d], torch.ones(b - a, d - c, dtype=torch.bool))
            for (a, b), (c, d) in parts
        ]
    )
    torch.testing.assert_close(out[0], expected)
    assert lse.shape == (2, 2, 3) and lse[0, 0, 2].item() == float("inf")


def test_gradients_of_packed_sequences():
    q, k, v = _given(1, 5, 6, 2, 3)
    cum_q, cum_k = torch.tensor([0, 2, 5], dtype=torch.int32), torch.tensor([0, 2, 6], dtype=torch.int32)
    with torch.no_grad():
        out, lse, s, o, *_ = aten._efficient_attention_forward(
            q, k, v, None, cum_q, cum_k, 3, 4, 0.0, 2, True, scale=0.3
        )
    expected = torch.cat(
        [
            _plain(q[0, a:b], k[0, c:d], v[0, c:d], _seen(b - a, d - c, 2, None))
            for (a, b), (c, d) in (((0, 2), (0, 2)), ((2, 5), (2, 6)))
        ]
    )
    torch.testing.assert_close(out[0], expected)
    g = torch.randn_like(out)
    wanted = torch.autograd.grad(expected, (q, k, v), g[0])
    with torch.no_grad():
        *found, none = aten._efficient_attention_backward(
            g, q, k, v, None, out, cum_q, cum_k, 3, 4, lse, 0.0, s, o, 2, False, scale=0.3
        )
    assert none is None
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_by_the_name_of_scaled_dot_product_attention():
    q, k, v = (t.transpose(1, 2).detach().requires_grad_() for t in _given(2, 4, 4, 2, 3))
    bias = torch.randn(1, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    with torch.no_grad():
        out, lse, s, o = aten._scaled_dot_product_efficient_attention(q, k, v, bias, True)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, bias)
    torch.testing.assert_close(out, expected)
    g = torch.randn_like(out)
    wanted = torch.autograd.grad(expected, (q, k, v, bias), g)
    with torch.no_grad():
        found = aten._scaled_dot_product_efficient_attention_backward(
            g, q, k, v, bias, out, lse, s, o, 0.0, [True, True, True, True]
        )
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


def test_mem_efficient_dropout_numbers():
    with pytest.raises(NotImplementedError, match="^Could not run 'aten::_fill_mem_eff_dropout_mask_'"):
        torch._fill_mem_eff_dropout_mask_(torch.empty(1, 1, 2, 2), 0.1, 3, 0)
    whole = torch.ops.shim.philox_uniform(torch.empty(64), 3, 0)
    assert bool(((whole > 0) & (whole <= 1)).all()) and whole.unique().numel() == 64
    for offset in (1, 4, 7):
        assert torch.equal(
            torch.ops.shim.philox_uniform(torch.empty(5, 10), 3, offset).reshape(-1), whole[offset : offset + 50]
        )
