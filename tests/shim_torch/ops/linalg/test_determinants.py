"""Determinants: values, gradients, singular and empty matrices."""

from __future__ import annotations

import math

import pytest

import shim_torch as torch


def test_values():
    a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64)
    assert torch.det(a).item() == pytest.approx(5.0)
    assert torch.linalg.det(torch.stack([a, -a, 2 * a])).tolist() == pytest.approx([5.0, 5.0, 20.0])
    sign, size = torch.linalg.slogdet(-torch.eye(3))
    assert sign.item() == -1 and size.item() == 0
    assert torch.logdet(a).item() == pytest.approx(math.log(5))
    assert math.isnan(torch.logdet(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).item())


def test_singular_and_empty_matrices():
    assert torch.det(torch.ones(2, 2)).item() == 0
    sign, size = torch.slogdet(torch.zeros(2, 2))
    assert sign.item() == 0 and size.item() == -math.inf
    assert torch.det(torch.empty(0, 0)).item() == 1


def test_gradient_is_the_cofactors():
    a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    torch.det(a).backward()
    torch.testing.assert_close(a.grad, torch.tensor([[3.0, -1.0], [-1.0, 2.0]], dtype=torch.float64))
    (gradient,) = torch.autograd.grad(torch.linalg.slogdet(a)[1], a)
    torch.testing.assert_close(gradient, torch.linalg.inv(a.detach()).T)


def test_complex_determinants():
    a = torch.tensor([[1j, 0], [0, 2.0]], dtype=torch.complex128)
    assert torch.det(a).item() == 2j
    sign, size = torch.linalg.slogdet(a)
    assert sign.item() == pytest.approx(1j) and size.item() == pytest.approx(math.log(2))


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        torch.linalg.det(torch.ones(2, 3))
