"""Inner numeric operators, jagged rows, histograms and sparse constructors by ATen's names against PyTorch 2.13."""

import pytest

import shim_torch as torch

from ..expressions import mismatch
from . import numeric_cases as cases


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


def test_a_linear_combination_takes_real_coefficients():
    x = torch.randn(3, 2, 2, dtype=torch.complex64)
    c = torch.randn(4, 3)
    torch.testing.assert_close(torch._compute_linear_combination(x, c), (x * c.view(4, 3, 1, 1)).sum(1))
