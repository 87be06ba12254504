"""Strides of results, and refused dtypes, as PyTorch's CPU kernels have them; the values are stored beside."""

import order_cases
import pytest
from expressions import difference, outcome, stored

import shim_torch


@pytest.mark.parametrize("expression", order_cases.CASES)
def test_as_pytorch(expression):
    found = difference(outcome(shim_torch, order_cases, expression), stored("order_cases")[expression])
    assert found is None, found
