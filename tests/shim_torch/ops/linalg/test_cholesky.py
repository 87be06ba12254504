"""Cholesky factors, solutions and inverses by them, and other factors of symmetric matrices."""

import numpy as np
import pytest

import shim_torch as torch

L = torch.linalg


DTYPES = ("float32", "float64", "complex64", "complex128")


def made(dtype, *sizes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if dtype.startswith("complex") else 0)
    return torch.from_numpy(x.astype(dtype))


def positive(dtype, *lead, n=4):
    a = made(dtype, *lead, n, n)
    return a @ a.mH + torch.eye(n, dtype=a.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", [(), (3,)])
def test_symmetric_factors(dtype, lead):
    s = positive(dtype, *lead)
    for upper in (False, True):
        c = L.cholesky(s, upper=upper)
        torch.testing.assert_close(c.mH @ c if upper else c @ c.mH, s)
        b = made(dtype, *lead, 4, 2)
        for factor in (c, c.contiguous()):
            torch.testing.assert_close(s @ torch.cholesky_solve(b, factor, upper=upper), b, rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(torch.cholesky_inverse(c, upper=upper), L.inv(s), rtol=1e-3, atol=1e-3)
    values, vectors = L.eigh(s)
    torch.testing.assert_close(vectors * values.unsqueeze(-2).to(s.dtype) @ vectors.mH, s, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(L.eigvalsh(s, UPLO="U"), values, rtol=1e-4, atol=1e-4)
    for hermitian in (False, True):
        a = s if hermitian else made(dtype, *lead, 4, 4)
        a = a if hermitian else a + a.mT
        factors = L.ldl_factor(a, hermitian=hermitian)
        b = made(dtype, *lead, 4, 2)
        torch.testing.assert_close(a @ L.ldl_solve(*factors, b, hermitian=hermitian), b, rtol=2e-3, atol=2e-3)
