"""What is refused first where a result is written to a tensor; powers and quotients of complex infinities."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import written_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
