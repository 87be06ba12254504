"""Integrals by the trapezoidal rule."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import integrals_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_nodes_are_those_of_pytorchs_numbers():
    y = torch.ones(4, requires_grad=True)
    assert torch.trapezoid(y, dx=2).grad_fn.name() == "MulBackward1"
    assert torch.trapezoid(y, torch.arange(4.0)).grad_fn.name() == "DivBackward1"
    assert torch.cumulative_trapezoid(y, torch.arange(4.0)).grad_fn.name() == "DivBackward1"
