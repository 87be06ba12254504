"""ATen's names of draws that torch shows by others: PyTorch's numbers from the same seed."""

from __future__ import annotations

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import draws_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_a_chance_of_keeping_everything_keeps_it():
    x = torch.randn(50)
    kept, mask = torch.ops.aten._fused_dropout(x, 1.0)
    assert torch.equal(kept, x) and bool((mask == 1).all())
