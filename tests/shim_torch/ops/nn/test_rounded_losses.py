"""Losses of 16-bit logits are rounded where PyTorch's kernels of the CPU round them."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import rounded_losses_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
