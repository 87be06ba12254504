"""Infinite numbers, NaN, ties and dtypes that do not go together: gradients and errors."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import odd_numbers_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
