"""Numeric operators by their inner names: linear combinations, matrix exponentials and their kind."""

import shim_torch as torch


def test_a_linear_combination_takes_real_coefficients():
    x = torch.randn(3, 2, 2, dtype=torch.complex64)
    c = torch.randn(4, 3)
    torch.testing.assert_close(torch._compute_linear_combination(x, c), (x * c.view(4, 3, 1, 1)).sum(1))
