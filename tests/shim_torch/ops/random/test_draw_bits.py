"""Uniform, normal and other draws on the CPU: PyTorch's numbers, to the last bit."""

from __future__ import annotations

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import draw_bits_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None
