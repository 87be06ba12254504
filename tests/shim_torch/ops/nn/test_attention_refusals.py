"""What attention, dropout and padding refuse, and how padded sequences lie in memory."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import attention_refusals_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
