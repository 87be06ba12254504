"""Orthogonal polynomials against their recurrences, at every degree that the kernels tell apart."""

import pytest

import shim_torch as torch

S = torch.special


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_polynomials(dtype):
    x = torch.linspace(-1, 1, 21, dtype=dtype).unsqueeze(1)
    n = torch.arange(-1, 6, dtype=dtype)
    powers = [torch.zeros_like(x), torch.ones_like(x), x, *(x**k for k in range(2, 6))]
    t = [
        powers[0],
        powers[1],
        x,
        2 * x**2 - 1,
        4 * x**3 - 3 * x,
        8 * x**4 - 8 * x**2 + 1,
        16 * x**5 - 20 * x**3 + 5 * x,
    ]
    torch.testing.assert_close(S.chebyshev_polynomial_t(x, n), torch.cat(t, 1), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(S.shifted_chebyshev_polynomial_t((x + 1) / 2, n), torch.cat(t, 1), rtol=1e-4, atol=1e-5)
    he = [powers[0], powers[1], x, x**2 - 1, x**3 - 3 * x, x**4 - 6 * x**2 + 3, x**5 - 10 * x**3 + 15 * x]
    torch.testing.assert_close(S.hermite_polynomial_he(x, n), torch.cat(he, 1), rtol=1e-4, atol=1e-5)
    legendre = [
        powers[0],
        powers[1],
        x,
        (3 * x**2 - 1) / 2,
        (5 * x**3 - 3 * x) / 2,
        (35 * x**4 - 30 * x**2 + 3) / 8,
        (63 * x**5 - 70 * x**3 + 15 * x) / 8,
    ]
    torch.testing.assert_close(S.legendre_polynomial_p(x, n), torch.cat(legendre, 1), rtol=1e-4, atol=1e-5)
    assert S.laguerre_polynomial_l(torch.zeros(7, dtype=dtype), n).tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert S.chebyshev_polynomial_u(-torch.ones(7, dtype=dtype), n).tolist() == [0, 1, -2, 3, -4, 5, -6]
    assert bool(S.hermite_polynomial_h(torch.ones(1, dtype=dtype), torch.full((1,), 600.0, dtype=dtype)).isnan())
