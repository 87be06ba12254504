"""Calls of the wide CPU benchmark: linear algebra, special functions, and pools over volumes."""

from __future__ import annotations

from typing import Any

from side_by_side import Cases

SIZES = ((4, ()), (4, (64,)), (64, ()), (64, (16,)), (256, ()))


def linalg_cases(torch: Any) -> Cases:
    """Factors, solutions, eigenvalues and least squares of one matrix and of batches, float32 and complex128."""
    found: Cases = {}
    for n, batch in SIZES:
        for dtype in (torch.float32, torch.complex128):
            found |= _of_size(torch, n, batch, dtype)
    return found


def _of_size(torch: Any, n: int, batch: tuple[int, ...], dtype: Any) -> Cases:
    L = torch.linalg
    a = torch.randn(*batch, n, n, dtype=torch.float64).to(dtype)
    s = a @ a.mH + n * torch.eye(n, dtype=dtype)
    b = torch.randn(*batch, n, 8, dtype=torch.float64).to(dtype)
    factors, c, q, d = L.lu_factor(a), L.cholesky(s), torch.geqrf(a), L.ldl_factor(s)
    calls = {
        "lu_factor": lambda: L.lu_factor(a),
        "lu": lambda: L.lu(a),
        "lu_solve": lambda: L.lu_solve(*factors, b),
        "cholesky": lambda: L.cholesky(s),
        "cholesky_solve": lambda: torch.cholesky_solve(b, c),
        "cholesky_inverse": lambda: torch.cholesky_inverse(c),
        "solve": lambda: L.solve(a, b),
        "solve_triangular": lambda: L.solve_triangular(c, b, upper=False),
        "inv": lambda: L.inv(a),
        "det": lambda: L.det(a),
        "qr": lambda: L.qr(a),
        "geqrf": lambda: torch.geqrf(a),
        "householder_product": lambda: L.householder_product(*q),
        "ormqr": lambda: torch.ormqr(*q, b),
        "eigh": lambda: L.eigh(s),
        "eigvalsh": lambda: L.eigvalsh(s),
        "eig": lambda: L.eig(a),
        "svd": lambda: L.svd(a),
        "svdvals": lambda: L.svdvals(a),
        "ldl_factor": lambda: L.ldl_factor(s),
        "ldl_solve": lambda: L.ldl_solve(*d, b),
        "lstsq": lambda: L.lstsq(a, b),
        "pinv": lambda: L.pinv(a),
        "matrix_exp": lambda: L.matrix_exp(a / n),
    }
    size = "x".join(map(str, (*batch, n, n)))
    return {f"{name} {size} {str(dtype).removeprefix('torch.')}": call for name, call in calls.items()}


_ONE = """i0 i0e i1 i1e bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_k0 modified_bessel_k1 airy_ai erfcx ndtr log_ndtr
ndtri entr digamma gammaln""".split()
_TWO = "gammainc gammaincc zeta chebyshev_polynomial_t hermite_polynomial_h legendre_polynomial_p laguerre_polynomial_l".split()


def special_cases(torch: Any) -> Cases:
    """torch.special of 10 and of 10,000 float32 numbers in (0, 1), and pools over volumes."""
    found: Cases = {}
    for n in (10, 10000):
        x, two = torch.rand(n), 1 + torch.rand(n)
        degrees = torch.randint(0, 6, (n,)).to(torch.float32)
        for name in _ONE:
            found[f"{name} {n}"] = lambda f=getattr(torch.special, name), x=x: f(x)
        for name in _TWO:
            other = degrees if "polynomial" in name else x
            first = x if "polynomial" in name else two
            found[f"{name} {n}"] = lambda f=getattr(torch.special, name), a=first, b=other: f(a, b)
        found[f"polygamma 2 {n}"] = lambda x=x: torch.polygamma(2, x)
    functional, volume = torch.nn.functional, torch.randn(2, 8, 16, 16, 16)
    found["max_pool3d 2x8x16x16x16"] = lambda: functional.max_pool3d(volume, 2)
    found["avg_pool3d 2x8x16x16x16"] = lambda: functional.avg_pool3d(volume, 2)
    found["adaptive_max_pool3d 2x8x16x16x16"] = lambda: functional.adaptive_max_pool3d(volume, 5)
    found["adaptive_avg_pool3d 2x8x16x16x16"] = lambda: functional.adaptive_avg_pool3d(volume, 5)
    found["adaptive_max_pool2d 16x16x16"] = lambda: functional.adaptive_max_pool2d(volume[0, :, 0], 5)
    return found
