"""Integrals by the trapezoidal rule."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import integrals_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
