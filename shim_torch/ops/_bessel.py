"""Bessel's functions, Hurwitz's zeta and the incomplete gamma functions over arrays of NumPy or CuPy, in float64."""

from __future__ import annotations

import functools
import math
from typing import Any

_EULER = 0.57721566490153286061


def modified_i(xp: Any, x: Any, order: int, scaled: bool) -> Any:
    """I0 or I1, times e^-|x| if ``scaled``: the power series below 30, Hankel's expansion above."""
    z = x.astype("float64")
    size = xp.abs(z)
    small = xp.minimum(size, 30.0)
    quarter = small * small / 4
    term = xp.ones_like(small) if order == 0 else small / 2
    total = term
    for k in range(1, 90):
        term = term * quarter / (k * (k + order))
        total = total + term
    low = total * xp.exp(-small) if scaled else total
    big = xp.maximum(size, 30.0)
    mu, term, tail = 4.0 * order * order, xp.ones_like(big), xp.ones_like(big)
    for k in range(1, 20):
        term = -term * (mu - (2 * k - 1) ** 2) / (k * 8 * big)
        tail = tail + term
    high = tail / xp.sqrt(2 * math.pi * big)
    high = high if scaled else high * xp.exp(big)
    found = xp.where(size < 30.0, low, high)
    found = xp.where(xp.isinf(size), 0.0 if scaled else math.inf, found)
    return xp.where(z < 0, -found, found) if order else found


def modified_k(xp: Any, x: Any, order: int, scaled: bool) -> Any:
    """K0 or K1 by the trapezoidal rule on ∫ e^(-x cosh t) cosh(order · t) dt, which converges exponentially."""
    z = x.astype("float64")
    inside = xp.where((z > 0) & xp.isfinite(z), z, xp.ones_like(z))
    reach = xp.arccosh(1 + 750.0 / inside)
    count = 400
    step = reach / count
    total = 0.5 * xp.ones_like(inside)
    for k in range(1, count + 1):
        t = k * step
        part = xp.exp(-inside * (xp.cosh(t) - 1))
        total = total + (part * xp.cosh(t) if order else part)
    found = total * step
    found = found if scaled else found * xp.exp(-inside)
    found = xp.where(xp.isinf(z), 0.0, xp.where(xp.isnan(z), z, found))
    return xp.where(z == 0, math.inf, xp.where(z < 0, math.nan, found))


def _bessel_j_all(xp: Any, x: Any, orders: Any) -> list[Any]:
    """J of whole orders by the trapezoidal rule over a period of cos(n t - x sin t), exact once it resolves x."""
    largest = float(xp.max(xp.abs(xp.where(xp.isfinite(x), x, 0.0)))) if x.size else 0.0
    count = 60 + max(orders) + int(1.2 * min(largest, 1e4))  # beyond order + x nothing is aliased
    totals = [xp.zeros_like(x) for _ in orders]
    for k in range(count):
        t = 2 * math.pi * k / count
        bend = x * math.sin(t)
        for i, n in enumerate(orders):
            totals[i] = totals[i] + xp.cos(n * t - bend)
    return [total / count for total in totals]


def bessel_j(xp: Any, x: Any, order: int) -> Any:
    """J0 or J1."""
    z = x.astype("float64")
    (found,) = _bessel_j_all(xp, xp.where(xp.isinf(z), 0.0, z), [order])
    return xp.where(xp.isinf(z), 0.0, found)


def bessel_y(xp: Any, x: Any, order: int) -> Any:
    """Y0 or Y1: Neumann's series over the J."""
    z = x.astype("float64")
    inside = xp.where((z > 0) & xp.isfinite(z), z, xp.ones_like(z))
    terms = 25 + (int(0.6 * float(xp.max(inside))) if z.size else 0)
    log = xp.log(inside / 2) + _EULER
    if order == 0:
        first, *rest = _bessel_j_all(xp, inside, [0, *[2 * k for k in range(1, terms)]])
        found = 2 / math.pi * log * first
        for k, j in enumerate(rest, 1):
            found = found - 4 / math.pi * (-1) ** k * j / k
    else:  # the derivative of the series, negated
        even, *odd = _bessel_j_all(xp, inside, [0, *[2 * k + 1 for k in range(terms)]])
        found = -2 / (math.pi * inside) * even + 2 / math.pi * log * odd[0]
        for k in range(1, terms):
            found = found + 2 / math.pi * (-1) ** k * (odd[k - 1] - odd[k]) / k
    found = xp.where(xp.isinf(z) & (z > 0), 0.0, found)
    return xp.where(z == 0, -math.inf, xp.where((z < 0) | xp.isnan(z), math.nan, found))


_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000,
)  # fmt: skip


def zeta(xp: Any, s: Any, q: Any) -> Any:
    """Hurwitz's zeta Σ (q + k)^-s by Euler and Maclaurin's formula."""
    s, q = xp.broadcast_arrays(s.astype("float64"), q.astype("float64"))
    fine = (s > 1) & (q > 0)
    a, b = xp.where(fine, s, 2.0), xp.where(fine, q, 1.0)
    total = xp.zeros_like(a)
    for k in range(12):
        total = total + (b + k) ** -a
    far = b + 12
    total = total + far ** (1 - a) / (a - 1) + 0.5 * far**-a
    rising, power = a, far ** (-a - 1)
    for k, c in enumerate(_BERNOULLI):
        total = total + c * rising * power
        rising = rising * (a + 2 * k + 1) * (a + 2 * k + 2)
        power = power / (far * far)
    whole = (q <= 0) & (q == xp.floor(q)) & (s > 1)
    found = xp.where(fine, total, xp.where(whole | (s == 1), math.inf, math.nan))
    negative = (q < 0) & (q != xp.floor(q)) & (s == xp.floor(s)) & (s > 1)
    return xp.where(negative, _zeta_below(xp, s, q, negative), found) if bool(negative.any()) else found


def _zeta_below(xp: Any, s: Any, q: Any, negative: Any) -> Any:
    """Negative q, whole s: terms up to the first positive place, then zeta from there."""
    b = xp.where(negative, q, 0.5)
    steps = int(-float(b.min())) + 1
    total = xp.zeros_like(b)
    for _ in range(steps):
        below = b < 0
        base = xp.where(below, b, xp.ones_like(b))
        total = total + xp.where(below, xp.abs(base) ** -s * xp.where(s % 2 == 0, 1.0, -1.0), 0.0)
        b = xp.where(below, b + 1, b)
    return total + zeta(xp, s, b)


def gamma_incomplete(xp: Any, a: Any, x: Any, upper: bool, lgamma: Any) -> Any:
    """The regularised lower P(a, x) or upper Q(a, x): the series below a + 1, Lentz's continued fraction above."""
    a, x = xp.broadcast_arrays(a.astype("float64"), x.astype("float64"))
    good = (a > 0) & (x > 0) & xp.isfinite(a) & xp.isfinite(x)
    p, z = xp.where(good, a, 1.0), xp.where(good, x, 1.0)
    front = xp.exp(p * xp.log(z) - z - lgamma(p))
    term = total = 1 / p
    for k in range(1, 400):
        term = term * z / (p + k)
        total = total + term
    low = front * total
    tiny = 1e-300
    b = z + 1 - p
    c, d = xp.full_like(z, 1 / tiny), 1 / xp.where(b == 0, tiny, b)
    h = d
    for k in range(1, 400):
        n = -k * (k - p)
        b = b + 2
        d = n * d + b
        d = 1 / xp.where(xp.abs(d) < tiny, tiny, d)
        c = b + n / c
        c = xp.where(xp.abs(c) < tiny, tiny, c)
        h = h * d * c
    high = front * h
    lower = xp.where(z < p + 1, low, 1 - high)
    found = xp.where(z < p + 1, 1 - low, high) if upper else lower
    # The ends: P(a, 0) = 0, P(0, x) = 1, P(a, inf) = 1, P(inf, x) = 0.
    at_one = ((a == 0) & (x > 0)) | (xp.isinf(x) & xp.isfinite(a) & (a > 0))
    at_zero = ((x == 0) & (a > 0)) | (xp.isinf(a) & xp.isfinite(x) & (x >= 0))
    one, zero = (0.0, 1.0) if upper else (1.0, 0.0)
    return xp.where(good, found, xp.where(at_one, one, xp.where(at_zero, zero, math.nan)))


def erfcx(xp: Any, x: Any, erfc: Any) -> Any:
    """e^(x²) erfc(x): as it stands below 20, its asymptotic series above."""
    z = x.astype("float64")
    near = xp.minimum(z, 20.0)
    low = xp.exp(xp.minimum(near * near, 745.0)) * erfc(near)
    low = xp.where(z < -26.7, math.inf, low)
    far = xp.maximum(z, 20.0)
    term = total = xp.ones_like(far)
    for k in range(1, 10):
        term = -term * (2 * k - 1) / (2 * far * far)
        total = total + term
    return xp.where(z < 20.0, low, total / (far * math.sqrt(math.pi)))


@functools.cache
def _airy_rule(count: int = 40) -> tuple[Any, Any]:
    """Nodes and weights of Gauss's rule for ∫ e^-t t^(-1/6) f(t) dt over t > 0, by Golub and Welsch."""
    import numpy as np

    k = np.arange(count)
    alpha = -1.0 / 6
    beside = np.sqrt(k[1:] * (k[1:] + alpha))
    nodes, vectors = np.linalg.eigh(np.diag(2 * k + 1 + alpha) + np.diag(beside, 1) + np.diag(beside, -1))
    return nodes, vectors[0] ** 2  # of total weight one: Γ(5/6) cancels in Ai's integral


def airy_ai(xp: Any, x: Any) -> Any:
    """Airy's Ai: its power series near zero, elsewhere e^-ζ / (2 √π z^(1/4)) · E[(1 + t / 2ζ)^(-1/6)], ζ = 2/3 z^(3/2)."""
    z = x.astype("float64")
    near = xp.clip(z, -2.0, 2.0)
    cube, f, g = near**3, xp.ones_like(near), near
    even, odd = f, g
    for k in range(1, 20):
        even, odd = even * cube / ((3 * k - 1) * (3 * k)), odd * cube / ((3 * k) * (3 * k + 1))
        f, g = f + even, g + odd
    low = 0.355028053887817239 * f - 0.258819403792806798 * g
    size = xp.maximum(xp.abs(xp.where(xp.isfinite(z), z, 0.0)), 2.0)
    turned = xp.where(z < 0, complex(0.5, math.sqrt(0.75)), 1.0) * size  # Ai(-x) = 2 Re(e^(iπ/3) Ai(x e^(iπ/3)))
    zeta = 2 / 3 * turned * xp.sqrt(turned)
    mean = sum(float(w) * (1 + float(t) / (2 * zeta)) ** (-1.0 / 6) for t, w in zip(*_airy_rule(), strict=True))
    value = xp.exp(-zeta) * mean / (2 * math.sqrt(math.pi) * turned**0.25)
    far = xp.where(z < 0, 2 * (complex(0.5, math.sqrt(0.75)) * value).real, value.real)
    found = xp.where(xp.abs(z) < 2, low, xp.where(z > 103.892, 0.0, far))
    return xp.where(xp.isfinite(z), found, math.nan)
