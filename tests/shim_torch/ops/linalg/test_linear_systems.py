"""Solutions, inverses and determinants: of every batch and layout, by our own loops and by LAPACK."""

import itertools

import numpy as np
import pytest

import shim_torch as torch

L = torch.linalg


DTYPES = ("float32", "float64", "complex64", "complex128")


def made(dtype, *sizes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if dtype.startswith("complex") else 0)
    return torch.from_numpy(x.astype(dtype))


def by_columns(t):
    return t.stride()[-2:] == (1, t.size(-2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("leads", [((), ()), ((3,), ()), ((), (2,)), ((1, 3), (2, 1))])
@pytest.mark.parametrize("turned", [False, True])
def test_solutions(dtype, leads, turned):
    a = made(dtype, *leads[0], 4, 4) + 4 * torch.eye(4).to(getattr(torch, dtype))
    a = a.mT.contiguous().mT if turned else a
    b, rows = made(dtype, *leads[1], 4, 2, seed=1), made(dtype, *leads[1], 2, 4, seed=2)
    close = {"rtol": 1e-3, "atol": 1e-3}
    lead = torch.broadcast_shapes(*leads)
    torch.testing.assert_close(a @ L.solve(a, b), b.expand(*lead, -1, -1), **close)
    torch.testing.assert_close(L.solve(a, rows, left=False) @ a, rows.expand(*lead, -1, -1), **close)
    torch.testing.assert_close(a @ L.inv(a), torch.eye(4, dtype=a.dtype).expand(a.shape), **close)
    factors = L.lu_factor(a)
    for adjoint in (False, True):
        op = a.mH if adjoint else a
        torch.testing.assert_close(op @ L.lu_solve(*factors, b, adjoint=adjoint), b.expand(*lead, -1, -1), **close)
        x = L.lu_solve(*factors, rows, left=False, adjoint=adjoint)
        assert x.is_contiguous()
        torch.testing.assert_close(x @ op, rows.expand(*lead, -1, -1), **close)
    for upper, unit in itertools.product((False, True), repeat=2):
        t = (a.triu() if upper else a.tril()) * (1 if not unit else 0.25)
        kept = t - t.diagonal(0, -2, -1).diag_embed() + torch.eye(4, dtype=a.dtype) if unit else t
        x = L.solve_triangular(t, b, upper=upper, unitriangular=unit)
        assert by_columns(x)
        torch.testing.assert_close(kept @ x, b.expand(*lead, -1, -1), **close)
        x = L.solve_triangular(t, rows, upper=upper, left=False, unitriangular=unit)
        torch.testing.assert_close(x @ kept, rows.expand(*lead, -1, -1), **close)


@pytest.mark.parametrize("n, count, dtype", [*itertools.product((1, 5, 64), (1, 17), DTYPES), (520, 2, "float32")])
def test_systems_by_our_own_and_by_the_library(n, count, dtype):
    """Sizes about the groups of rows and columns that are solved together, and one that is the library's."""
    wide = "complex128" if "complex" in dtype else "float64"
    a, b, eye = (
        made(dtype, 2, n, n) / n + torch.eye(n),
        made(dtype, 2, n, count, seed=1),
        torch.eye(n, dtype=getattr(torch, wide)),
    )
    near = {"rtol": 1e-3, "atol": 1e-4} if dtype in ("float32", "complex64") else {}

    def same(x, wanted):
        torch.testing.assert_close(x.to(eye.dtype), wanted, **near)

    A, B = a.to(eye.dtype), b.to(eye.dtype)
    for upper in (False, True):
        t = A.triu() if upper else A.tril()
        same(t @ L.solve_triangular(a, b, upper=upper).to(eye.dtype), B)
        same(L.solve_triangular(a.mH, b.mH, upper=not upper, left=False).to(eye.dtype) @ t.mH, B.mH)
        unit = t - t.diagonal(dim1=1, dim2=2).diag_embed() + eye
        same(unit @ L.solve_triangular(a, b, upper=upper, unitriangular=True).to(eye.dtype), B)
        factor = L.cholesky(a @ a.mH, upper=upper)
        s = factor.mH @ factor if upper else factor @ factor.mH
        same(s.to(eye.dtype) @ torch.cholesky_solve(b, factor, upper=upper).to(eye.dtype), B)
        same(s.to(eye.dtype) @ torch.cholesky_inverse(factor, upper=upper).to(eye.dtype), eye.expand(2, -1, -1))
    turned = a.flip(-2)
    factors = L.lu_factor(turned)
    for adjoint in (False, True):
        m = (turned.mH if adjoint else turned).to(eye.dtype)
        same(m @ L.lu_solve(*factors, b, adjoint=adjoint).to(eye.dtype), B)
        same(L.lu_solve(*factors, b.mT, left=False, adjoint=adjoint).to(eye.dtype) @ m, B.mT)
    same(turned.to(eye.dtype) @ L.inv(turned).to(eye.dtype), eye.expand(2, -1, -1))


A = torch.tensor([[4.0, 1.0], [1.0, 3.0]])


def test_a_singular_matrix_leaves_the_others_of_its_batch():
    inverse, info = L.inv_ex(torch.stack([A, A * 0]))
    assert info.tolist() == [0, 1]
    assert np.allclose((inverse[0] @ A).numpy(), np.eye(2), atol=1e-6)


def test_the_first_zero_pivot_is_found_past_a_panel():
    given = torch.eye(50, dtype=torch.float64).repeat(2, 1, 1)
    given[1, 40, 40] = 0
    assert L.lu_factor_ex(given).info.tolist() == [0, 41]
    with pytest.raises(L.LinAlgError, match=r"\(Batch element 1\): The diagonal element 41 is zero"):
        torch.inverse(given)


def test_slogdet_into_outputs():
    sign, size = torch.empty(0), torch.empty(0)
    found = torch.slogdet(2 * torch.eye(3), out=(sign, size))
    assert found.sign is sign and sign.item() == 1
    assert abs(size.item() - 3 * torch.tensor(2.0).log().item()) < 1e-6
