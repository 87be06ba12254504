"""LU factors of every shape, and solutions by them: values, gradients, zero pivots."""

import math

import numpy as np
import pytest

import shim_torch as torch

L = torch.linalg


DTYPES = ("float32", "float64", "complex64", "complex128")


def made(dtype, *sizes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if dtype.startswith("complex") else 0)
    return torch.from_numpy(x.astype(dtype))


@pytest.mark.parametrize("dtype", ("float64", "complex128"))
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_gradients_of_solutions_by_factors(dtype, left, adjoint):
    a = (made(dtype, 2, 3, 3) + 3 * torch.eye(3, dtype=getattr(torch, dtype))).requires_grad_()
    b = made(dtype, 3, 2, seed=1) if left else made(dtype, 2, 3, seed=1)
    b.requires_grad_()

    def f(a, b):
        packed, pivots = L.lu_factor(a)
        return L.lu_solve(packed, pivots, b, left=left, adjoint=adjoint)

    assert torch.autograd.gradcheck(f, (a, b))
    assert torch.autograd.gradgradcheck(f, (a, b))


@pytest.mark.parametrize("size", [(1, 1), (16, 16), (17, 9), (9, 17), (40, 70), (70, 40), (100, 100)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_of_small_matrices(dtype, size):
    """Our own elimination: the packed factors make the matrix, no element of L is above 1 in size, and zero pivots are told."""
    a = made(dtype, 3, *size)
    a[1, :, 0] = 0
    packed, pivots, info = L.lu_factor_ex(a)
    assert info.tolist() == [0, 1, 0] and pivots.min() >= 1 and pivots.max() <= size[0]
    P, lower, U = torch.lu_unpack(packed, pivots)
    wide = torch.complex128 if a.is_complex() else torch.float64  # the product is not to add errors of its own
    torch.testing.assert_close((P.to(wide) @ lower.to(wide) @ U.to(wide)).to(a.dtype), a)
    assert lower.abs().max() <= (1.4143 if a.is_complex() else 1)  # complex pivots are the largest by |re| + |im|


A = torch.tensor([[4.0, 1.0], [1.0, 3.0]])


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_lu_solve_of_singular_matrices_gives_infinities(left, adjoint):
    """PyTorch's does not look for singular matrices: kornia solves all of a batch and drops those that failed."""
    inf, nan = math.inf, math.nan
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    LU, pivots, info = L.lu_factor_ex(torch.stack([A, singular]))
    found = L.lu_solve(LU, pivots, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), left=left, adjoint=adjoint)
    assert info.tolist() == [0, 2]
    given = np.array([[1.0, 2.0], [3.0, 4.0]])
    wanted = np.linalg.solve(A.numpy(), given if left else given.T)
    np.testing.assert_allclose(found[0].numpy(), wanted if left else wanted.T, rtol=1e-5)
    np.testing.assert_array_equal(found[1].numpy(), [[inf, nan], [-inf, nan]] if left else [[nan, nan], [-inf, inf]])


@pytest.mark.parametrize("shape", [(70, 70), (100, 45), (45, 100), (2, 40, 40)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_factors_of_matrices_wider_than_a_panel(shape, dtype):
    torch.manual_seed(0)
    given = torch.randn(shape, dtype=dtype)
    packed, pivots = L.lu_factor(given)
    P, lower, upper = torch.lu_unpack(packed, pivots)
    torch.testing.assert_close(P @ lower @ upper, given)
    below = lower.tril(-1)
    assert below.abs().max() <= 1.4143  # the head of a column has the largest |re| + |im|
    assert (pivots >= torch.arange(1, pivots.shape[-1] + 1)).all()
