"""Gradients of normalization as operators against PyTorch 2.13, and statistics that several processes put together."""

import pytest

import shim_torch as torch

from ..expressions import mismatch, pattern
from . import normalization_cases as cases

aten = torch.ops.aten


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_gradients_of_rms_norm():
    x, g = pattern(torch, 3, 4, 5).double().requires_grad_(), pattern(torch, 3, 4, 5, seed=2).double()
    w = pattern(torch, 5, seed=3).double().requires_grad_()
    rstd = (x.detach().square().mean(2, keepdim=True) + 1e-5).rsqrt()
    wanted = torch.autograd.grad(torch.nn.functional.rms_norm(x, [5], w, 1e-5), (x, w), g)
    torch.testing.assert_close(
        aten._fused_rms_norm_backward(g, x.detach(), [5], rstd, w.detach(), [True, True]), wanted
    )
    assert aten._fused_rms_norm_backward(g, x.detach(), [5], rstd, None, [False, False]) == (None, None)


def test_statistics_of_parts_are_those_of_the_whole():
    x, counts = pattern(torch, 6, 4, 5), torch.tensor([10, 20])
    parts = [torch.batch_norm_stats(p, 1e-5) for p in (x[:2], x[2:])]
    mean, invstd = (torch.stack(s) for s in zip(*parts, strict=True))
    running = torch.zeros(4), torch.ones(4)
    whole = torch.batch_norm_gather_stats_with_counts(x, mean, invstd, *running, 0.1, 1e-5, counts)
    expected = torch.zeros(4), torch.ones(4)
    y = torch.nn.functional.batch_norm(x, *expected, training=True)
    torch.testing.assert_close(running, expected)
    torch.testing.assert_close(whole, torch.batch_norm_stats(x, 1e-5))
    torch.testing.assert_close(torch.batch_norm_elemt(x, None, None, *whole, 1e-5), y)
    same = torch.batch_norm_gather_stats(x, mean, invstd, None, None, 0.1, 1e-5, 15)
    torch.testing.assert_close(same[0], mean.mean(0))


def test_gradients_of_parts_are_those_of_the_whole():
    x, w = pattern(torch, 6, 4, 5).requires_grad_(), pattern(torch, 4, seed=2).requires_grad_()
    g, counts = pattern(torch, 6, 4, 5, seed=3), torch.tensor([10, 20])
    wanted = torch.autograd.grad(torch.nn.functional.batch_norm(x, None, None, w, training=True), (x, w), g)
    x, w = x.detach(), w.detach()
    mean, invstd = torch.batch_norm_stats(x, 1e-5)
    sums = [
        torch.batch_norm_backward_reduce(g[s], x[s], mean, invstd, w, True, True, True) for s in (slice(2), slice(2, 6))
    ]
    dy, dy_xmu, dw, db = (a + b for a, b in zip(*sums, strict=True))
    torch.testing.assert_close(dw, wanted[1])
    torch.testing.assert_close(db, g.sum((0, 2)))
    found = [
        torch.batch_norm_backward_elemt(g[s], x[s], mean, invstd, w, dy, dy_xmu, counts)
        for s in (slice(2), slice(2, 6))
    ]
    torch.testing.assert_close(torch.cat(found), wanted[0])
