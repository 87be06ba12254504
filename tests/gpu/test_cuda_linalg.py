"""Linear algebra on CUDA against the CPU's, which LAPACK computes."""

import itertools

import numpy as np
import pytest

import shim_torch as torch

L = torch.linalg
DTYPES = ("float32", "float64", "complex64", "complex128")
CLOSE = {"rtol": 2e-3, "atol": 2e-3}


def made(dtype, *sizes, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if dtype.startswith("complex") else 0)
    return torch.from_numpy(x.astype(dtype))


def same(f, *tensors):
    mine, theirs = f(*(t.cuda() for t in tensors)), f(*tensors)
    mine, theirs = ((r,) if isinstance(r, torch.Tensor) else r for r in (mine, theirs))
    for x, y in zip(mine, theirs, strict=True):
        assert x.is_cuda and x.dtype is y.dtype and x.stride() == y.stride()
        torch.testing.assert_close(x.cpu(), y, **CLOSE)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", [(), (3,), (2, 2)])
@pytest.mark.parametrize("size", ((5, 5), (5, 3), (3, 5)))
def test_factors(dtype, lead, size):
    a = made(dtype, *lead, *size)
    P, lower, upper = L.lu(a.cuda())
    torch.testing.assert_close((P @ lower @ upper).cpu(), a, **CLOSE)
    if not dtype.startswith(
        "complex"
    ):  # of complex numbers the batched launch compares other sizes: other pivots, as good
        same(L.lu_factor_ex, a)
    same(torch.geqrf, a)
    packed, tau = torch.geqrf(a)
    same(
        L.householder_product if size[0] >= size[1] else lambda a, t: L.householder_product(a[..., :3], t), packed, tau
    )
    other = made(dtype, *lead, size[0], 2, seed=1)
    same(torch.ormqr, packed, tau, other)
    q, r = L.qr(a.cuda())
    torch.testing.assert_close((q @ r).cpu(), a, **CLOSE)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("leads", [((), ()), ((3,), (3,)), ((3,), ()), ((), (2,)), ((1, 3), (2, 1))])
def test_solutions(dtype, leads):
    a = made(dtype, *leads[0], 4, 4) + 4 * torch.eye(4).to(getattr(torch, dtype))
    b, rows = made(dtype, *leads[1], 4, 2, seed=1), made(dtype, *leads[1], 2, 4, seed=2)
    same(L.solve, a, b)
    same(lambda a, b: L.solve(a, b, left=False), a, rows)
    same(L.inv, a)
    same(L.inv_ex, a)
    packed, pivots = L.lu_factor(a)
    for left, adjoint in itertools.product((True, False), repeat=2):
        same(
            lambda lu, p, b, o=left, h=adjoint: L.lu_solve(lu, p, b, left=o, adjoint=h),
            packed,
            pivots,
            b if left else rows,
        )
    for left, upper, unit in itertools.product((True, False), repeat=3):
        how = {"left": left, "upper": upper, "unitriangular": unit}
        same(lambda a, b, how=how: L.solve_triangular(a, b, **how), a if not unit else a * 0.25, b if left else rows)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", [(), (3,)])
def test_positive_definite(dtype, lead):
    a = made(dtype, *lead, 4, 4)
    s = a @ a.mH + torch.eye(4, dtype=a.dtype)
    for upper in (False, True):
        same(lambda s, u=upper: L.cholesky_ex(s, upper=u), s)
        c = L.cholesky(s, upper=upper)
        same(lambda b, c, u=upper: torch.cholesky_solve(b, c, upper=u), made(dtype, *lead, 4, 2, seed=1), c)
        same(lambda c, u=upper: torch.cholesky_inverse(c, upper=u), c)


def test_failures_are_found():
    z = torch.zeros(2, 3, 3, device="cuda")
    z[0] = torch.eye(3, device="cuda")
    last = torch.eye(3, device="cuda")
    last[2, 2] = 0
    assert L.lu_factor_ex(z).info.tolist() == [0, 1] and L.inv_ex(z).info.tolist() == [0, 1]
    assert (
        L.cholesky_ex(z).info.tolist() == [0, 1]
        and int(L.cholesky_ex(last).info) == 3
        and int(L.inv_ex(last).info) == 3
    )
    for f in (L.inv, L.cholesky, lambda a: L.solve(a, torch.ones(3, 1, device="cuda"))):
        with pytest.raises(L.LinAlgError, match=r"Batch element 1"):
            f(z)
    big = torch.eye(300, device="cuda").expand(4, 300, 300).clone()
    big[:, 10, 10] = 0
    with pytest.raises(L.LinAlgError, match="The diagonal element 11 is zero"):
        L.inv(big)
    x = L.solve_triangular(last, torch.ones(3, 1, device="cuda"), upper=False)
    assert x.isinf().tolist() == [[False], [False], [True]]


def test_empty_and_large():
    for sizes in ((0, 3, 3), (2, 0, 0)):
        assert L.inv(torch.ones(sizes, device="cuda")).shape == sizes
    a, b = made("float64", 400, 400), made("float64", 400, 3)
    same(L.solve, a, b)
    same(lambda a: L.lu_factor(a)[1], a)
    x = made("complex64", 3, 4).cuda()
    assert torch.nansum(x).is_cuda and torch.isclose(torch.nansum(x), x.sum())


def test_trace_of_bools_is_counted():
    x = torch.tensor([[True, True], [False, True]])
    with pytest.raises(NotImplementedError, match='"trace" not implemented'):
        x.trace()
    traced = x.cuda().trace()
    assert traced.dtype is torch.int64 and traced.item() == 2
