"""Pseudo-inverses: values, cut-offs, gradients."""

from __future__ import annotations

import pytest

import shim_torch as torch


def test_wide_and_tall_matrices():
    a = torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]], dtype=torch.float64)
    expected = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(torch.linalg.pinv(a), expected)
    torch.testing.assert_close(torch.pinverse(a.T), expected.T)


def test_small_singular_values_count_as_zero():
    a = torch.diag(torch.tensor([1.0, 1e-3], dtype=torch.float64))
    torch.testing.assert_close(
        torch.linalg.pinv(a, rtol=1e-2).diagonal(), torch.tensor([1.0, 0.0], dtype=torch.float64)
    )
    torch.testing.assert_close(
        torch.linalg.pinv(a, atol=1e-4).diagonal(), torch.tensor([1.0, 1e3], dtype=torch.float64)
    )
    rcond = torch.tensor(0.1, dtype=torch.float64)
    torch.testing.assert_close(torch.linalg.pinv(a, rcond).diagonal(), torch.tensor([1.0, 0.0], dtype=torch.float64))


def test_hermitian_ones_are_the_same():
    a = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(torch.linalg.pinv(a, hermitian=True), torch.linalg.inv(a))


def test_gradient_is_that_of_the_inverse():
    a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(torch.linalg.pinv(a).sum(), a)
    (expected,) = torch.autograd.grad(torch.linalg.inv(a).sum(), a)
    torch.testing.assert_close(found, expected)


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="rtol tensor of complex type is not supported. Got ComplexFloat"):
        torch.linalg.pinv(torch.eye(2), rtol=torch.tensor(1j))
    with pytest.raises(RuntimeError, match="rcond tensor of complex type is not supported. Got ComplexFloat"):
        torch.linalg.pinv(torch.eye(2), torch.tensor(1j))
