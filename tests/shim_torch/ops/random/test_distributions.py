"""Draws of distributions: PyTorch's numbers from the same seed, its refusals, and what the draws look like."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import distributions_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize(
    ("draw", "median"),
    [
        (lambda t, g: t.exponential_(2.0, generator=g), math.log(2) / 2),
        (lambda t, g: t.cauchy_(3.0, 0.5, generator=g), 3.0),
        (lambda t, g: t.log_normal_(1.0, 0.5, generator=g), math.e),
        (lambda t, g: t.geometric_(0.25, generator=g), 3.0),
    ],
    ids=["exponential", "cauchy", "log_normal", "geometric"],
)
def test_half_of_the_draws_lie_on_each_side_of_the_median(draw, median):
    found = draw(torch.empty(20000, dtype=torch.float64), torch.Generator().manual_seed(11))
    below, above = (found < median).double().mean().item(), (found > median).double().mean().item()
    assert below <= 0.52 and above <= 0.52
