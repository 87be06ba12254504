"""Softmax and its logarithm: values by hand, gradients, narrow dtypes, large numbers."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch


def test_values():
    x = [1.0, 2.0, 4.0]
    total = sum(map(math.exp, x))
    t = torch.tensor(x, dtype=torch.float64)
    assert t.softmax(0).tolist() == pytest.approx([math.exp(v) / total for v in x])
    assert t.log_softmax(0).tolist() == pytest.approx([v - math.log(total) for v in x])
    assert torch.softmax(t.view(1, 3), 0).tolist() == [[1.0, 1.0, 1.0]]


def test_large_numbers_do_not_overflow():
    t = torch.tensor([1e4, 1e4, -1e4])
    assert t.softmax(0).tolist() == [0.5, 0.5, 0.0]
    assert t.log_softmax(0).tolist() == pytest.approx([-math.log(2), -math.log(2), -2e4], rel=1e-4)


def test_gradients():
    x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 1.0, 1.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: t.softmax(1), x) and torch.autograd.gradcheck(
        lambda t: t.log_softmax(0), x
    )
    assert torch.autograd.gradgradcheck(lambda t: t.softmax(1), x)


def test_dtypes():
    x = torch.ones(2, dtype=torch.bfloat16)
    assert x.softmax(0).dtype is torch.bfloat16 and x.softmax(0, dtype=torch.float32).dtype is torch.float32
    assert torch.ops.aten._softmax(x, 0, False).tolist() == [0.5, 0.5]
    assert torch.empty(0, 3).softmax(1).shape == (0, 3)


def test_what_is_refused():
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.ones(2).softmax(1)
    with pytest.raises(NotImplementedError, match="\"softmax_lastdim_kernel_impl\" not implemented for 'Long'"):
        torch.ones(2, dtype=torch.int64).softmax(0)


def test_rows_that_see_nothing():
    torch.manual_seed(0)
    x = torch.randn(3, 5, dtype=torch.float64)
    x[1] = -math.inf
    x[2, 1:4] = -math.inf
    wanted = x.softmax(-1).masked_fill(torch.tensor([[False], [True], [False]]), 0)
    for f in (torch.ops.shim.safe_softmax, lambda t: torch.ops.aten._safe_softmax(t, -1)):
        assert torch.allclose(f(x), wanted)
    y = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.ops.shim.safe_softmax, y)
    assert torch.autograd.gradgradcheck(torch.ops.shim.safe_softmax, y)
    leaf = x.clone().requires_grad_()
    torch.ops.shim.safe_softmax(leaf).square().sum().backward()
    assert not leaf.grad[1].any() and torch.isfinite(leaf.grad).all()
