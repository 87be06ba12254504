"""Special functions that NumPy lacks; CuPy has them in cupyx.scipy.special."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from shim_torch._impl import arrays


def _digamma(x: Any) -> Any:
    """The logarithmic derivative of the gamma function, by its recurrence and asymptotic series."""
    x = np.asarray(x).astype("float64")
    with np.errstate(all="ignore"):
        reflected = x < 0
        y = np.where(reflected, 1 - x, x)
        found = np.zeros_like(y)
        for _ in range(10):
            low = y < 10
            if not low.any():
                break
            found = found - np.where(low, 1 / y, 0)
            y = np.where(low, y + 1, y)
        inv = 1 / (y * y)
        tail = inv * (1 / 12 - inv * (1 / 120 - inv * (1 / 252 - inv * (1 / 240 - inv * (1 / 132)))))
        found = np.where(np.isinf(y), y, found + np.log(y) - 0.5 / y - tail)
        found = np.where(reflected, found - math.pi / np.tan(math.pi * x), found)
        found = np.where(reflected & (x == np.floor(x)), math.nan, found)
        return np.where(x == 0, np.copysign(math.inf, -x), found)


def _erfinv(y: float) -> float:
    if y != y or abs(y) > 1:
        return math.nan
    if abs(y) == 1:
        return math.copysign(math.inf, y)
    w = -math.log((1 - y) * (1 + y))
    a = 0.147
    t = 2 / (math.pi * a) - w / 2
    x = math.copysign(math.sqrt(math.sqrt(t * t + w / a) - t), y)
    for _ in range(3):  # Newton from Winitzki's approximation
        x -= (math.erf(x) - y) / (2 / math.sqrt(math.pi) * math.exp(-x * x))
    return x


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


@cache
def _numpy(name: str) -> Any:
    own = {"lgamma": _lgamma, "erfinv": _erfinv}
    f = _digamma if name == "digamma" else np.frompyfunc(own.get(name) or getattr(math, name), 1, 1)

    def apply(x: Any) -> Any:
        return np.asarray(f(x)).astype(x.dtype)

    return apply


def special(xp: Any, name: str) -> Any:
    """The function ``name`` (erf, erfc, erfinv, lgamma, digamma) over arrays of ``xp``."""
    return _numpy(name) if xp is np else arrays.cupy_special(name)


def logaddexp(xp: Any, a: Any, b: Any) -> Any:
    """log(e^a + e^b), of complex numbers too, which NumPy's does not take."""
    if a.dtype.kind != "c" and b.dtype.kind != "c":
        return xp.logaddexp(a, b)
    larger = a.real >= b.real
    big, small = xp.where(larger, a, b), xp.where(larger, b, a)
    endless = xp.isinf(big.real) & (big.real == small.real)
    gap = xp.where(endless, 0, small - big)
    found = big + xp.log1p(xp.exp(gap))
    both = xp.where(big.real < 0, small, xp.log(xp.exp(small) + xp.exp(big)))
    found = xp.where(xp.isinf(small.real) & (small.real < 0) & ~endless, big, found)  # log 0 adds nothing
    found = xp.where(endless, both, found)
    return xp.where(xp.isnan(a) | xp.isnan(b), complex(xp.nan, xp.nan), found).astype(a.dtype)
