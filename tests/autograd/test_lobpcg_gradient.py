"""Gradients of some eigenpairs of a symmetric matrix."""

import pytest

import shim_torch as torch
from shim_torch.autograd import gradcheck, gradgradcheck


def _pairs(A, k, largest):
    X = torch.eye(A.size(-2), k, dtype=A.dtype).expand(*A.shape[:-1], k)
    values, vectors = torch.lobpcg(A, k=k, X=X, largest=largest)
    place = vectors.abs().max(-2, keepdim=True)[1]
    return values, vectors * vectors.gather(-2, place).sign()  # the sign of a vector is free


@pytest.mark.parametrize("k, sizes, largest", [(1, (6, 6), True), (2, (2, 6, 6), False)])
def test_gradients(k, sizes, largest):
    torch.manual_seed(0)
    A = torch.rand(*sizes).double()
    A = ((A @ A.mT) / 10).requires_grad_()
    assert gradcheck(lambda A: _pairs(A, k, largest), A, check_batched_grad=False)
    along = [torch.rand(*A.shape[:-2], k) / 100, torch.rand(*A.shape[:-1], k) / 100]
    assert gradgradcheck(lambda A: _pairs(A, k, largest), A, along, atol=1e-4, check_batched_grad=False)
    values, vectors = _pairs(A, k, largest)
    (g,) = torch.autograd.grad(values.sum() + vectors.sum(), A)
    torch.testing.assert_close(g, g.mT)


def test_gradients_with_a_second_matrix_are_refused():
    A = torch.diag(torch.arange(1.0, 7.0)).requires_grad_()
    values, _ = torch.lobpcg(A, k=1, B=torch.eye(6), X=torch.ones(6, 1))
    with pytest.raises(ValueError, match="lobpcg.backward does not support backward with B != I yet."):
        values.sum().backward()
