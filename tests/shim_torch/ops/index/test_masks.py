"""Masks of several dims beside other indices, and single values put where a mask is true."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import masks_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
