"""The regularised incomplete gamma functions P(a, x) and Q(a, x) over arrays."""

from __future__ import annotations

import functools
import math
from typing import Any

_TINY = 1e-300
_MOST = 2000  # steps of a series or a fraction
_PATIENCE = 16  # steps between looks at whether all have converged


def gamma_incomplete(xp: Any, a: Any, x: Any, upper: bool, lgamma: Any, erfc: Any) -> Any:
    """The regularised lower P(a, x), or upper Q(a, x).

    The series below a + 1 and Lentz's continued fraction above; Temme's uniform expansion where a is large and x near it.
    """
    a, x = xp.broadcast_arrays(a.astype("float64"), x.astype("float64"))
    good = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    p, z = xp.where(good, a, 1.0), xp.where(good, x, 1.0)
    off = xp.abs(z - p) / p
    near = good & (p > 20) & (off < 0.3)
    below = z < p + 1
    # Where another way serves, arguments with which a loop ends at once.
    front = xp.exp(p * xp.log(z) - z - lgamma(p))
    low = front * _series(xp, xp.where(below & ~near, p, 1.0), xp.where(below & ~near, z, 0.1))
    high = front * _fraction(xp, xp.where(below | near, 1.0, p), xp.where(below | near, 50.0, z))
    found = xp.where(below, 1 - low, high) if upper else xp.where(below, low, 1 - high)
    if bool(near.any()):
        tail = _near(xp, xp.where(near, p, 100.0), xp.where(near, z, 100.0), upper, erfc)
        found = xp.where(near, tail, found)
    # The ends: P(a, 0) = 0, P(0, x) = 1, P(a, inf) = 1, P(inf, x) = 0.
    at_one = ((a == 0) & (x > 0)) | (xp.isinf(x) & xp.isfinite(a) & (a > 0))
    at_zero = ((x == 0) & (a > 0)) | ((a == math.inf) & xp.isfinite(x) & (x >= 0))
    one, zero = (0.0, 1.0) if upper else (1.0, 0.0)
    return xp.where(good, found, xp.where(at_one, one, xp.where(at_zero, zero, math.nan)))


def _series(xp: Any, p: Any, z: Any) -> Any:
    term = total = 1 / p
    for k in range(1, _MOST):
        term = term * z / (p + k)
        total = total + term
        if k % _PATIENCE == 0 and not bool((term > total * 1e-17).any()):
            break
    return total


def _fraction(xp: Any, p: Any, z: Any) -> Any:
    b = z + 1 - p
    c, d = xp.full_like(z, 1 / _TINY), 1 / xp.where(b == 0, _TINY, b)
    h = d
    for k in range(1, _MOST):
        n = -k * (k - p)
        b = b + 2
        d = n * d + b
        d = 1 / xp.where(xp.abs(d) < _TINY, _TINY, d)
        c = b + n / c
        c = xp.where(xp.abs(c) < _TINY, _TINY, c)
        step = d * c
        h = h * step
        if k % _PATIENCE == 0 and not bool((xp.abs(step - 1) > 1e-16).any()):
            break
    return h


def _near(xp: Any, p: Any, z: Any, upper: bool, erfc: Any) -> Any:
    """Temme's expansion (DLMF 8.12): the normal tail of η, and a correction in powers of η and of 1 / a."""
    mu = (z - p) / p
    eta = xp.sign(mu) * xp.sqrt(xp.maximum(2 * (mu - xp.log1p(mu)), 0))
    total, scale = xp.zeros_like(p), xp.ones_like(p)
    for row in _temme(25, 25):
        inner = xp.zeros_like(p)
        for coefficient in reversed(row):
            inner = inner * eta + coefficient
        total = total + inner * scale
        scale = scale / p
    rest = xp.exp(-0.5 * p * eta * eta) / xp.sqrt(2 * math.pi * p) * total
    half = 0.5 * erfc((eta if upper else -eta) * xp.sqrt(p / 2))
    return half + rest if upper else half - rest


@functools.cache
def _temme(rows: int, columns: int) -> list[list[float]]:
    """The coefficients d[k][n] of η^n a^-k, from the inverse series of η²/2 = μ - ln(1 + μ) and Stirling's numbers."""
    from fractions import Fraction

    most = 2 * rows + columns + 4
    alpha = [Fraction(0), Fraction(1)]  # μ = Σ alpha[n] η^n
    for n in range(2, most):
        crossed = sum((j * alpha[j] * alpha[n - j + 1] for j in range(2, n)), Fraction(0))
        alpha.append((alpha[n - 1] - crossed) / (n + 1))
    # Γ*(a) = Σ g[k] a^-k, g[k] = (2k + 1)!! alpha[2k + 1]; its reciprocal's signs alternate.
    double, g = Fraction(1), []
    for k in range(rows):
        double = double * (2 * k + 1)
        g.append(double * alpha[2 * k + 1])
    first = [Fraction(-1, 3)] + [(n + 2) * alpha[n + 2] for n in range(1, most - 2)]
    found = [first]
    for k in range(1, rows):
        before = found[-1]
        found.append([(-1) ** k * g[k] * first[n] + (n + 2) * before[n + 2] for n in range(len(before) - 2)])
    return [[float(c) for c in row[:columns]] for row in found]
