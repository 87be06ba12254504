"""Places out of range, and indices that do not fit their source."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import places_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
