"""Gradients that ATen has operators for against PyTorch 2.13."""

import pytest

import shim_torch as torch

from ..expressions import mismatch, pattern
from . import gradients_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize("mask", [[True, True], [True, False], [False, True]])
def test_matmul_backward_gives_what_is_wanted(mask):
    x, y = pattern(torch, 2, 3, 4), pattern(torch, 4, 5, seed=2)
    g = pattern(torch, 2, 3, 5, seed=3)
    found = torch.ops.aten.matmul_backward(g, x, y, mask)
    assert [f is not None for f in found] == mask
    for got, wanted in zip(found, (g @ y.t(), torch.einsum("bij,bik->jk", x, g)), strict=True):
        if got is not None:
            torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("pad", [0, 1])
def test_conv_tbc_backward(pad):
    x, w, b = pattern(torch, 5, 2, 3), pattern(torch, 2, 3, 4, seed=2), pattern(torch, 4, seed=3)
    leaves = [t.double().requires_grad_() for t in (x, w, b)]
    y = torch.conv_tbc(*leaves, pad)
    g = torch.ones_like(y) * 1.5
    found = torch.ops.aten.conv_tbc_backward(g, *(t.detach() for t in leaves), pad)
    torch.testing.assert_close(found, torch.autograd.grad(y, leaves, g))
    torch.testing.assert_close(found[2], torch.full((4,), 1.5 * y.shape[0] * 2, dtype=torch.float64))
