"""Products of Householder reflections and QR by them: against NumPy, gradients, shapes refused."""

import pytest

import shim_torch as torch

from ..expressions import mismatch, pattern
from . import householder_cases as cases

ONES = torch.ones


def test_products_of_no_reflections_still_have_a_gradient():
    x = torch.ones(3, 2, requires_grad=True)
    q = torch.linalg.householder_product(x, ONES(0))
    assert q.tolist() == [[1, 0], [0, 1], [0, 0]]
    q.sum().backward()
    assert x.grad.tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("expression", cases.CASES)
def test_as_pytorch(expression):
    assert mismatch(torch, cases, expression) is None


@pytest.mark.parametrize("shape", [(5, 3), (3, 3), (2, 4, 2)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_reflections_are_the_factors_of_qr(shape, dtype):
    a = pattern(torch, *shape).to(dtype)
    a = torch.complex(a.real, a.real.flip(-2)) if dtype.is_complex else a
    packed, tau = torch.geqrf(a)
    q = torch.linalg.householder_product(packed, tau)
    k = shape[-1]
    torch.testing.assert_close(q.mH @ q, torch.eye(k, dtype=dtype).expand(*shape[:-2], k, k))
    torch.testing.assert_close(q @ packed.triu()[..., :k, :], a)
    eye = torch.eye(shape[-2], dtype=dtype).expand(*shape[:-2], shape[-2], shape[-2])
    torch.testing.assert_close(torch.ormqr(packed, tau, eye)[..., :k], q)


def test_gradients():
    packed, tau = torch.geqrf(pattern(torch, 4, 3).double())
    assert torch.autograd.gradcheck(torch.linalg.householder_product, (packed.requires_grad_(), tau.requires_grad_()))
