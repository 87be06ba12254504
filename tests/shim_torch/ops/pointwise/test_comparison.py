"""Comparisons: integers that float64 does not tell apart, what is in a list, NaN."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import comparison_cases as cases


def test_without_tolerance_whole_numbers_are_compared_as_they_are():
    a = torch.tensor([2**53, 7], dtype=torch.int64)
    b = torch.tensor([2**53 + 1, 7], dtype=torch.int64)
    assert torch.isclose(a, b, rtol=0, atol=0).tolist() == [False, True]
    assert not torch.allclose(a, b, rtol=0, atol=0)
    assert torch.isclose(a, b, rtol=0, atol=1).tolist() == [True, True]


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
