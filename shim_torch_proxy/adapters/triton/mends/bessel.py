"""Bessel functions of CUDA's libdevice with NumPy, in float64.

Integer orders have integrals over a whole period, which the trapezoid rule of N points gives to machine precision once N
passes the argument by some thirty: J_n(x) = 1/2π ∫ cos(nt - x sin t) dt, I_n(x) = 1/2π ∫ exp(x cos t) cos(nt) dt. Y_0 and
Y_1 follow from the J of even orders by Neumann's series, higher orders by the recurrence, which is stable for Y.
Far out (|x| > 500) Hankel's asymptotic series is shorter than the period is long.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FAR = 500.0


def _by_element(function: Any) -> Any:
    return np.vectorize(function, otypes=[np.float64])


def _angles(x: float, order: int) -> Any:
    points = 2 * (int(abs(x)) + abs(order) + 40)
    return 2 * np.pi * np.arange(points) / points


def _hankel(n: int, x: float) -> tuple[float, float]:
    """(J_n, Y_n) for x far beyond n."""
    mu, p, q, term = 4.0 * n * n, 1.0, 0.0, 1.0
    for k in range(1, 20):
        term *= (mu - (2 * k - 1) ** 2) / (k * 8 * x)
        if k % 2:
            q += term if k % 4 == 1 else -term
        else:
            p += term if k % 4 == 0 else -term
    chi, size = x - (n / 2 + 0.25) * np.pi, np.sqrt(2 / (np.pi * x))
    return size * (p * np.cos(chi) - q * np.sin(chi)), size * (p * np.sin(chi) + q * np.cos(chi))


def _j(n: int, x: float) -> float:
    if not np.isfinite(x):
        return 0.0 if np.isinf(x) else np.nan
    if abs(x) > _FAR and n * n < abs(x):
        value = _hankel(n, abs(x))[0]
        return -value if x < 0 and n % 2 else value
    t = _angles(x, n)
    return float(np.mean(np.cos(n * t - x * np.sin(t))))


def _i(n: int, x: float) -> float:
    if not abs(x) < 720:  # beyond float64
        return np.nan if np.isnan(x) else -np.inf if x < 0 and n % 2 else np.inf
    t = _angles(x, n)
    return float(np.mean(np.exp(x * np.cos(t)) * np.cos(n * t)))


def _y01(x: float) -> tuple[float, float]:
    if x > _FAR:
        return _hankel(0, x)[1], _hankel(1, x)[1]
    t = _angles(x, 0)
    orders = np.arange(len(t) // 2 + 2)[:, None]
    j = np.mean(np.cos(orders * t - x * np.sin(t)), axis=1)
    even = np.arange(2, len(j) - 1, 2)
    signs = (-1.0) ** (even // 2) / (even // 2)
    log = np.log(x / 2) + np.euler_gamma
    y0 = 2 / np.pi * log * j[0] - 4 / np.pi * np.sum(signs * j[even])
    slope = (j[even - 1] - j[even + 1]) / 2  # of J at the even orders
    y1 = -2 / np.pi * (j[0] / x - log * j[1]) + 4 / np.pi * np.sum(signs * slope)
    return float(y0), float(y1)


def _y(n: int, x: float) -> float:
    if not x > 0 or np.isinf(x):
        return -np.inf if x == 0 else 0.0 if np.isposinf(x) else np.nan
    below, value = _y01(x)
    if n == 0:
        return below
    for k in range(1, n):
        below, value = value, 2 * k / x * value - below
    return value


FUNCTIONS = {
    "j0": _by_element(lambda x: _j(0, x)),
    "j1": _by_element(lambda x: _j(1, x)),
    "jn": _by_element(lambda n, x: _j(int(n), x) if n >= 0 else np.nan),
    "y0": _by_element(lambda x: _y(0, x)),
    "y1": _by_element(lambda x: _y(1, x)),
    "yn": _by_element(lambda n, x: _y(int(n), x) if n >= 0 else np.nan),
    "cyl_bessel_i0": _by_element(lambda x: _i(0, x)),
    "cyl_bessel_i1": _by_element(lambda x: _i(1, x)),
}
