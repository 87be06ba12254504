"""Two tensors of different dtypes: what they meet in, and what the result has."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import mixed_dtypes_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
