"""Strides of results, refused dtypes and masked reductions as PyTorch's CPU kernels have them; the values are stored beside."""

import pytest

import shim_torch

from . import dtypes_cases, order_cases
from .expressions import difference, outcome, stored


@pytest.mark.parametrize("expression", order_cases.CASES)
def test_memory_as_pytorch(expression):
    found = difference(outcome(shim_torch, order_cases, expression), stored("order_cases")[expression])
    assert found is None, found


@pytest.mark.parametrize("expression", dtypes_cases.CASES)
def test_dtypes_as_pytorch(expression):
    found = difference(outcome(shim_torch, dtypes_cases, expression), stored("dtypes_cases")[expression])
    assert found is None, found
