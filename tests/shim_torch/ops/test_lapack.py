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


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigenvalues_of_any_matrix(dtype):
    a = made(dtype, 3, 4, 4)
    values, vectors = L.eig(a)
    torch.testing.assert_close(a.to(values.dtype) @ vectors, vectors * values.unsqueeze(-2), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(values.sum(-1), a.diagonal(0, -2, -1).sum(-1).to(values.dtype), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(L.det(a).to(values.dtype), values.prod(-1), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(
        torch.view_as_real(L.eigvals(a)).abs().sum(), torch.view_as_real(values).abs().sum(), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", ((4, 4), (5, 3), (3, 5)))
@pytest.mark.parametrize("driver", ("gels", "gelsy", "gelsd", "gelss"))
def test_least_squares(dtype, size, driver):
    a, b = made(dtype, 2, *size), made(dtype, 2, size[0], 2, seed=1)
    found = L.lstsq(a, b, driver=driver)
    torch.testing.assert_close(found.solution, L.pinv(a) @ b, rtol=1e-3, atol=1e-3)
    assert found.solution.stride()[-2:] == (1, max(size))
    if driver != "gels":
        assert found.rank.tolist() == [min(size)] * 2
    if driver in ("gelsd", "gelss"):
        torch.testing.assert_close(found.singular_values, L.svdvals(a), rtol=1e-3, atol=1e-3)
    if size == (5, 3) and driver != "gelsy":
        torch.testing.assert_close(
            found.residuals, (b - a @ found.solution).abs().square().sum(-2), rtol=1e-3, atol=1e-3
        )
    else:
        assert found.residuals.numel() == 0


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
