"""Linear algebra by the loaded LAPACK: what the factors make, how results lie, and that the records' own bodies agree."""

import itertools

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.records.linalg import cholesky, householder, indefinite, least_squares, lu

L = torch.linalg
DTYPES = ("float32", "float64", "complex64", "complex128")
SHAPES = ((4, 4), (5, 3), (3, 5), (1, 1))


def made(dtype, *sizes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if dtype.startswith("complex") else 0)
    return torch.from_numpy(x.astype(dtype))


def positive(dtype, *lead, n=4):
    a = made(dtype, *lead, n, n)
    return a @ a.mH + torch.eye(n, dtype=a.dtype)


def by_columns(t):
    return t.stride()[-2:] == (1, t.size(-2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", [(), (3,), (2, 2)])
@pytest.mark.parametrize("size", SHAPES)
def test_factors_make_the_matrix(dtype, lead, size):
    a = made(dtype, *lead, *size)
    P, lower, U = L.lu(a)
    wide = torch.complex128 if a.is_complex() else torch.float64  # the product is not to add errors of its own
    torch.testing.assert_close((P.to(wide) @ lower.to(wide) @ U.to(wide)).to(a.dtype), a)
    packed, pivots = L.lu_factor(a)
    assert pivots.dtype is torch.int32 and by_columns(packed)
    for mode in ("reduced", "complete"):
        Q, R = L.qr(a, mode)
        torch.testing.assert_close(Q @ R, a)
        torch.testing.assert_close(Q.mH @ Q, torch.eye(Q.size(-1), dtype=a.dtype).expand(*lead, -1, -1))
        assert by_columns(Q) and by_columns(R) and bool((R.tril(-1) == 0).all())
    torch.testing.assert_close(L.qr(a, "r")[1], L.qr(a)[1])
    u, s, vh = L.svd(a, full_matrices=False)
    torch.testing.assert_close(u * s.unsqueeze(-2).to(u.dtype) @ vh, a)
    torch.testing.assert_close(L.svdvals(a), s)
    assert [tuple(t.shape[-2:]) for t in L.svd(a)[::2]] == [(size[0],) * 2, (size[1],) * 2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_bodies_of_the_records_agree(dtype):
    """What serves where NumPy brought no LAPACK that can be found."""
    a, b = made(dtype, 2, 4, 4), made(dtype, 2, 4, 2, seed=1)
    for mine, theirs in (
        (L.lu_factor_ex(a), lu.linalg_lu_factor_ex(np, a.numpy(), True, False)),
        (torch.geqrf(a), householder.geqrf(np, a.numpy())),
        (L.cholesky_ex(positive(dtype, 2)), cholesky.linalg_cholesky_ex(np, positive(dtype, 2).numpy(), False, False)),
        (L.ldl_factor_ex(a + a.mT), indefinite.linalg_ldl_factor_ex(np, (a + a.mT).numpy(), False, False)),
    ):
        for x, y in zip(mine, theirs, strict=True):
            torch.testing.assert_close(x, torch.from_numpy(np.array(y)), rtol=1e-3, atol=1e-3)
    packed, tau = torch.geqrf(a)
    by_body = torch.from_numpy(householder._householder_of(np, packed.numpy(), tau.numpy()))
    pairs = [(L.householder_product(packed, tau), householder._product_of_reflections(packed, tau))]
    pairs.append((L.householder_product(packed, tau), by_body))
    for left, turned in itertools.product((False, True), repeat=2):
        other = b if left else b.mT
        mine = torch.ormqr(packed, tau, other, left=left, transpose=turned)
        pairs.append((mine, householder._times_full_q(packed, tau, other, left, turned)))
        given = (*L.lu_factor(a), other)
        theirs = lu._lu_solve_of(np, *(t.numpy() for t in given), left, turned)
        pairs.append((torch.ops.aten._lu_solve_of(*given, left, turned), torch.from_numpy(np.array(theirs))))
    for driver in ("gels", "gelsd"):
        mine, theirs = (f(a, b, 1e-6, driver) for f in (torch.ops.aten._lstsq_of, least_squares._lstsq_of))
        pairs += zip(mine, theirs, strict=True)
    for x, y in pairs:
        torch.testing.assert_close(x, y, rtol=2e-3, atol=2e-3)


def test_errors_name_the_matrix_of_a_batch():
    z = torch.zeros(2, 3, 3)
    z[0] = torch.eye(3)
    with pytest.raises(RuntimeError, match=r"torch.linalg.lu_factor: \(Batch element 1\): U\[1,1\] is zero"):
        L.lu_factor(z)
    with pytest.raises(L.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 1 is zero"):
        L.inv(z)
    with pytest.raises(
        L.LinAlgError, match=r"linalg.cholesky: \(Batch element 1\): .* leading minor of order 1 is not"
    ):
        L.cholesky(z)
    with pytest.raises(L.LinAlgError, match=r"linalg.svd: \(Batch element 1\): .* non-finite values"):
        L.svd(torch.stack([torch.eye(3), torch.full((3, 3), float("nan"))]))
    assert (
        L.lu_factor_ex(z).info.tolist() == [0, 1]
        and L.inv_ex(z).info.tolist() == [0, 1]
        and L.cholesky_ex(z).info.tolist() == [0, 1]
    )
    with pytest.raises(RuntimeError, match="Pivots given to lu_solve must all be smaller or equal to LU.size"):
        L.lu_solve(torch.eye(3), torch.tensor([1, 2, 9], dtype=torch.int32), torch.ones(3, 1))
