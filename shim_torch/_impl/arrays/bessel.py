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
    reach = 2 * xp.arcsinh(xp.sqrt(22.5 / inside))  # e^-45 of the peak is left out
    count = 120
    step = reach / count
    total = 0.5 * xp.ones_like(inside)
    for k in range(1, count + 1):
        t = k * step
        part = xp.exp(-2 * inside * xp.sinh(t / 2) ** 2)
        total = total + (part * xp.cosh(t) if order else part)
    found = total * step
    found = found if scaled else found * xp.exp(-inside)
    found = xp.where(xp.isinf(z), 0.0, xp.where(xp.isnan(z), z, found))
    return xp.where(z == 0, math.inf, xp.where(z < 0, math.nan, found))


# Up to here J is summed over a period; from here Hankel's expansion is exact: its smallest term is e^(-2x).
_FAR = 25.0
_NEAR = 8.0  # the power series of Y lose no more than three digits up to here


def _hankel(xp: Any, x: Any, order: int, second: bool) -> Any:
    """J or (``second``) Y of order 0 or 1 for large x, by Hankel's asymptotic expansion."""
    term, even, odd = xp.ones_like(x), xp.ones_like(x), xp.zeros_like(x)
    for k in range(1, 30):
        term = term * ((4 * order * order - (2 * k - 1) ** 2) / (8 * k)) / x
        sign = 1 if k % 4 < 2 else -1
        if k % 2:
            odd = odd + sign * term
        else:
            even = even + sign * term
    sine, cosine = xp.sin(x), xp.cos(x)
    if order == 0:
        c, s = cosine + sine, sine - cosine
    else:
        c, s = sine - cosine, -(sine + cosine)
    return (even * s + odd * c if second else even * c - odd * s) / xp.sqrt(math.pi * x)


def _over_period(xp: Any, x: Any, order: int) -> Any:
    """J by the trapezoidal rule over a period of cos(n t - x sin t), exact once it resolves |x| <= _FAR."""
    count = 60 + order + int(1.2 * _FAR)
    total = xp.zeros_like(x)
    for k in range(count):
        t = 2 * math.pi * k / count
        total = total + xp.cos(order * t - x * math.sin(t))
    return total / count


def bessel_j(xp: Any, x: Any, order: int) -> Any:
    """J0 or J1."""
    z = x.astype("float64")
    size = xp.abs(z)
    far = _hankel(xp, xp.where(size > _FAR, xp.where(xp.isinf(z), _FAR, size), _FAR), order, False)
    far = xp.where(z < 0, -far, far) if order else far
    found = xp.where(size > _FAR, far, _over_period(xp, xp.clip(z, -_FAR, _FAR), order))
    tiny = xp.clip(z, -1.0, 1.0)  # the power series keeps small values' digits
    term = total = xp.ones_like(z) if order == 0 else tiny / 2
    for k in range(1, 10):
        term = -term * tiny * tiny / (4 * k * (k + order))
        total = total + term
    found = xp.where(size < 1, total, found)
    return xp.where(xp.isfinite(z), found, math.nan)  # at infinity too, as PyTorch has it


def _power_series_y(xp: Any, x: Any, order: int) -> Any:
    quarter = -x * x / 4
    term = xp.ones_like(x) if order == 0 else x / 2
    first, tail, harmonic = term, (term if order else xp.zeros_like(x)), 0.0
    for k in range(1, 45):
        term = term * quarter / (k * (k + order))
        harmonic += 1 / k
        first = first + term
        tail = tail + term * (2 * harmonic + (1 / (k + 1) if order else 0.0))
    log = xp.log(x / 2) + _EULER
    found = (2 * log * first - tail) / math.pi
    return found - 2 / (math.pi * x) if order else found


def _integral_y(xp: Any, x: Any, order: int) -> Any:
    """Y for moderate x: Gauss's rule over the two integrals of Schläfli's representation."""
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(56)
    total = xp.zeros_like(x)
    reach = xp.arcsinh(45.0 / x)
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        angle = (node + 1) * math.pi / 2
        total = total + weight * math.pi / 2 * xp.sin(x * math.sin(angle) - order * angle)
        t = (node + 1) * reach / 2
        grown = xp.exp(t) - xp.exp(-t) if order else 2.0
        total = total - weight * reach / 2 * grown * xp.exp(-x * xp.sinh(t))
    return total / math.pi


def bessel_y(xp: Any, x: Any, order: int) -> Any:
    """Y0 or Y1: its power series, integrals or asymptotic expansion, by size."""
    z = x.astype("float64")
    inside = xp.where((z > 0) & xp.isfinite(z), z, xp.ones_like(z))
    middle = _integral_y(xp, xp.clip(inside, _NEAR, _FAR), order)
    found = xp.where(inside > _FAR, _hankel(xp, xp.maximum(inside, _FAR), order, True), middle)
    found = xp.where(inside <= _NEAR, _power_series_y(xp, xp.minimum(inside, _NEAR), order), found)
    return xp.where(z == 0, -math.inf, xp.where((z > 0) & xp.isfinite(z), found, math.nan))


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
