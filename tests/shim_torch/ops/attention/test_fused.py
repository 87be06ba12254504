"""Attention as one operator with weights left out: which ones, its values, and its gradients."""

import math

import shim_torch as torch

ops = torch.ops.shim


def by_steps(q, k, v, kept, p, causal):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -math.inf)
    return (scores.softmax(-1) * kept / (1 - p)) @ v


def test_values_and_gradients():
    torch.manual_seed(0)
    for rows, cols, causal in ((20, 33, False), (16, 16, True), (3, 5, False)):
        q, k, v = (torch.randn(2, 3, n, 16).requires_grad_() for n in (rows, cols, cols))
        kept = ops.attention_kept(q, cols, 0.3, 5, 9)
        made = ops.attention(q, k, v, None, causal, 0.25, 0.3, 5, 9)[0]
        want = by_steps(q, k, v, kept, 0.3, causal)
        g = torch.randn(made.shape)
        torch.testing.assert_close(made, want)
        first = torch.autograd.grad(made, (q, k, v), g, retain_graph=True)
        torch.testing.assert_close(first, torch.autograd.grad(want, (q, k, v), g), rtol=1e-4, atol=1e-5)
        again = torch.autograd.grad(made, (q, k, v), g, create_graph=True)  # in tensor operations
        torch.testing.assert_close(again, first, rtol=1e-4, atol=1e-5)
        torch.autograd.grad(again[0].square().sum(), k)


def test_what_is_kept():
    q = torch.empty(2, 2, 200, 16)
    kept = ops.attention_kept(q, 300, 0.25, 1, 0)
    assert kept.shape == (2, 2, 200, 300) and kept.dtype == torch.bool
    assert abs(float(kept.float().mean()) - 0.75) < 0.005
    assert (
        abs(float(kept.float().mean((0, 1, 2)).std()) - math.sqrt(0.1875 / 800)) < 0.003
    )  # of columns: independent of each other
    assert not torch.equal(kept, ops.attention_kept(q, 300, 0.25, 1, 1))
    assert torch.equal(kept[:, :, :7], ops.attention_kept(q, 300, 0.25, 1, 0)[:, :, :7])
