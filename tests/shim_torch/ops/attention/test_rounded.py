"""Attention whose weights are rounded as PyTorch's kernel of the CPU rounds them."""

from __future__ import annotations

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import rounded_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_more_keys_than_a_block_holds(dtype):
    """Blocks of 512 keys are rescaled to the greatest score so far: against attention in float64, and its gradients."""
    torch.manual_seed(0)
    inputs = [torch.randn(1, 2, n, 16).to(dtype).requires_grad_() for n in (40, 1300, 1300)]
    wide = [t.detach().double().requires_grad_() for t in inputs]
    mask = torch.rand(40, 1300) > 0.4
    for given in ({}, {"attn_mask": mask}, {"is_causal": True}):
        found = torch.nn.functional.scaled_dot_product_attention(*inputs, **given)
        expected = torch.nn.functional.scaled_dot_product_attention(*wide, **given)
        torch.testing.assert_close(found.double(), expected, atol=0.02, rtol=0.02)
        g = torch.randn(found.shape)
        for a, b in zip(
            torch.autograd.grad(found, inputs, g.to(dtype)),
            torch.autograd.grad(expected, wide, g.double()),
            strict=True,
        ):
            torch.testing.assert_close(a.double(), b, atol=0.05, rtol=0.05)
