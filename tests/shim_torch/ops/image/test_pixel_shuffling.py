"""Channels moved into pixels and back, and channels shuffled."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import pixel_shuffling_cases as cases

F, shim = torch.nn.functional, torch.ops.shim


@pytest.mark.parametrize("r", (1, 2, 3))
def test_shuffled_pixels(r):
    x = torch.randn(2, 2 * r * r, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.equal(shim.shuffle_pixels(x, r, True), F.pixel_shuffle(x, r))
    assert torch.equal(shim.shuffle_pixels(F.pixel_shuffle(x, r), r, False), x)
    assert torch.autograd.gradcheck(lambda t: shim.shuffle_pixels(t, r, True), x)


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
