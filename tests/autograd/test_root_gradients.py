"""Gradients that a pass starts with are taken in the dtype of their outputs."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.nn import functional as F

ROOTS = {
    "linear": lambda x, w: F.linear(x, w),
    "matmul": lambda x, w: x @ w.t(),
    "addmm": lambda x, w: torch.addmm(torch.ones(2), x, w.t()),
    "mul": lambda x, w: x[:, :2] * w.sum(1),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64])
@pytest.mark.parametrize("root", ROOTS)
def test_another_dtype(root, dtype):
    x, w = torch.arange(12.0).reshape(4, 3).requires_grad_(), torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    y = ROOTS[root](x, w)
    g = torch.arange(8).reshape(4, 2)
    y.backward(g.to(dtype), retain_graph=True)
    expected = torch.autograd.grad(y, x, g.to(torch.float32))[0]
    assert x.grad.dtype == torch.float32 and torch.equal(x.grad, expected)


def test_a_function_gets_the_dtype_of_its_output():
    seen = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(g.dtype)
            return g * 2

    x = torch.ones(3, requires_grad=True)
    Twice.apply(x).backward(torch.ones(3, dtype=torch.float16))
    assert seen == [torch.float32] and x.grad.tolist() == [2, 2, 2]


def test_the_conversion_has_a_gradient():
    x, g = torch.ones(3, requires_grad=True), torch.ones(3, dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(x * x, x, g, create_graph=True)
    first.sum().backward()
    assert g.grad.dtype == torch.float64 and g.grad.tolist() == [2, 2, 2]
