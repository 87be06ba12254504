"""CUDA's libdevice functions by symbol (``__nv_tanhf``), computed with NumPy; results have the declared type."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from shim_torch_proxy.adapters.triton.mends import bessel

Function = Callable[..., Any]

# CUDA's name where NumPy's is the same but for the spelling; the others follow.
_NUMPY = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2",
    "atanh": "arctanh", "pow": "power", "powi": "power", "fabs": "abs", "llabs": "abs", "nearbyint": "rint",
    "remainder": None, "llrint": "rint", "scalbn": "ldexp", "fast_fdividef": "divide", "isnand": "isnan",
    "isinfd": "isinf", "isfinited": "isfinite", "finite": "isfinite", "signbitd": "signbit",
    **{name: name for name in (
        "abs", "cbrt", "ceil", "copysign", "cos", "cosh", "exp", "exp2", "expm1", "floor", "fmod", "hypot", "isinf",
        "isnan", "ldexp", "log", "log10", "log1p", "log2", "nextafter", "rint", "signbit", "sin", "sinh", "sqrt", "tan",
        "tanh", "trunc",
    )},
}  # fmt: skip

_PI = "3.14159265358979323846264338327950288"
_MATH: dict[str, Function] = {
    "erf": math.erf,
    "erfc": math.erfc,
    "tgamma": math.gamma,
    "lgamma": math.lgamma,
    "remainder": math.remainder,
}


def _each(function: Callable[..., float]) -> Function:
    """A function of Python floats over arrays; where it has no value, a pole gives infinity and the rest NaN."""

    def call(*values: float) -> float:
        try:
            return function(*values)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.inf if values[0] in (-math.inf, math.inf) or float(values[0]).is_integer() else math.nan

    return np.vectorize(call, otypes=[np.float64])


def _erfinv(x: float) -> float:
    if not -1.0 < x < 1.0:
        return math.copysign(math.inf, x) if abs(x) == 1.0 else math.nan
    y = NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2) if abs(x) > 1e-9 else x * math.sqrt(math.pi) / 2
    for _ in range(2):  # Newton
        y -= (math.erf(y) - x) / (2 / math.sqrt(math.pi) * math.exp(-y * y))
    return y


def _normcdfinv(p: float) -> float:
    if not 0.0 < p < 1.0:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    return NormalDist().inv_cdf(p)


def _erfcx(x: float) -> float:
    if x < 5:
        return math.exp(x * x) * math.erfc(x)
    fraction = 0.0  # Laplace's continued fraction
    for k in range(60, 0, -1):
        fraction = k / 2 / (x + fraction)
    return 1 / (math.sqrt(math.pi) * (x + fraction))


def _fma(x: float, y: float, z: float) -> float:
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(exact) if exact else x * y + z  # the sign of zero
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _round_away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _norm(*values: Any) -> Any:
    return np.sqrt(sum(np.square(value.astype(np.float64)) for value in values))


_COMPOSED: dict[str, Function] = {
    "erfinv": np.vectorize(_erfinv, otypes=[np.float64]),
    "erfcinv": np.vectorize(lambda x: -_normcdfinv(x / 2) / math.sqrt(2), otypes=[np.float64]),
    "erfcx": np.vectorize(_erfcx, otypes=[np.float64]),
    "normcdf": np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), otypes=[np.float64]),
    "normcdfinv": np.vectorize(_normcdfinv, otypes=[np.float64]),
    "exp10": lambda x: np.power(10.0, x.astype(np.float64)),
    "rsqrt": lambda x: 1 / np.sqrt(x.astype(np.float64)),
    "rcbrt": lambda x: 1 / np.cbrt(x.astype(np.float64)),
    "sinpi": lambda x: np.sin(np.longdouble(_PI) * np.fmod(x.astype(np.longdouble), 2)),
    "cospi": lambda x: np.cos(np.longdouble(_PI) * np.fmod(x.astype(np.longdouble), 2)),
    "fdim": lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.nan, np.maximum(x - y, 0)),
    "fma": np.vectorize(_fma, otypes=[np.float64]),
    **bessel.FUNCTIONS,
    "round": _round_away,
    "llround": _round_away,
    "logb": lambda x: np.frexp(x)[1] - 1,
    "ilogb": lambda x: np.frexp(x)[1] - 1,
    "saturate": lambda x: np.nan_to_num(np.clip(x, 0, 1), nan=0.0),
    "norm3d": _norm,
    "norm4d": _norm,
    "rnorm3d": lambda *x: 1 / _norm(*x),
    "rnorm4d": lambda *x: 1 / _norm(*x),
    "rhypot": lambda *x: 1 / _norm(*x),
    "mul24": lambda x, y: (x << 8 >> 8) * (y << 8 >> 8),
    "hadd": lambda x, y: (x.astype(np.int64) + y) >> 1,
    "rhadd": lambda x, y: (x.astype(np.int64) + y + 1) >> 1,
    "sad": lambda x, y, z: np.abs(x.astype(np.int64) - y) + z,
}

_MODES = {"rn": np.rint, "rd": np.floor, "ru": np.ceil, "rz": np.trunc}
_ARITHMETIC: dict[str, Function] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
               "rcp": np.reciprocal, "rsqrt": lambda x: 1 / np.sqrt(x), "ma": lambda x, y, z: x * y + z}  # fmt: skip
_KINDS = {"float": np.float32, "double": np.float64, "int": np.int32, "uint": np.uint32, "ll": np.int64,
          "ull": np.uint64, "longlong": np.int64}  # fmt: skip


def _bits(operation: str) -> Function:
    """popc, clz, ffs, brev of 32 and 64 bit integers."""

    def one(value: int, width: int) -> int:
        value &= (1 << width) - 1
        if operation == "popc":
            return bin(value).count("1")
        if operation == "clz":
            return width - value.bit_length()
        if operation == "ffs":
            return (value & -value).bit_length()
        reverse = int(f"{value:0{width}b}"[::-1], 2)
        return reverse - (1 << width) if reverse >> (width - 1) else reverse

    def call(dtype: Any, x: Any) -> Any:
        return np.vectorize(lambda value: one(int(value), x.itemsize * 8), otypes=[dtype])(x)

    return call


def _directed(result: Any, exact: Any, mode: str) -> Any:
    """``result``, the nearest to ``exact``, moved where ``mode`` rounds down, up or toward zero."""
    if mode == "rn":
        return result
    wide = result.astype(np.longdouble)
    down, up = wide > exact, wide < exact
    if mode == "rd" or mode == "ru":
        up, down = (up & (mode == "ru")), (down & (mode == "rd"))
    else:
        up, down = up & (exact < 0), down & (exact > 0)
    infinite = np.array(np.inf, result.dtype)
    return np.where(down, np.nextafter(result, -infinite), np.where(up, np.nextafter(result, infinite), result))


def _convert(mode: str) -> Function:
    def call(dtype: Any, x: Any) -> Any:
        if dtype.kind == "f":
            exact = x.astype(np.longdouble)
            return _directed(exact.astype(dtype), exact, mode)
        limits, value = np.iinfo(dtype), _MODES[mode](x.astype(np.longdouble))
        return np.where(np.isnan(value), 0, np.clip(value, limits.min, limits.max)).astype(dtype)

    return call


def _arithmetic(operation: Function, mode: str) -> Function:
    def call(dtype: Any, *args: Any) -> Any:
        exact = operation(*(arg.astype(np.longdouble) for arg in args))
        return _directed(exact.astype(dtype), exact, mode)

    return call


def _plain(function: Function) -> Function:
    return lambda dtype, *args: np.asarray(function(*args)).astype(dtype)


@functools.cache
def find(symbol: str) -> Function | None:
    """``f(result dtype, *arrays) -> array`` for a symbol of libdevice; None for one that is not here."""
    name = symbol.removeprefix("__nv_")
    found = _find(name)
    if found is None:
        return None

    def call(dtype: Any, *args: Any) -> Any:
        with np.errstate(all="ignore"):
            return found(dtype, *args)

    return call


def _find(name: str) -> Function | None:
    if name in _PARTS:
        return _plain(_PARTS[name])
    if match := re.fullmatch(r"(popc|clz|ffs|brev)(ll)?", name):
        return _bits(match[1])
    if match := re.fullmatch(r"(float|double|u?int|u?ll)2(float|double|u?int|u?ll)_(r[nduz])", name):
        return _convert(match[3])
    if match := re.fullmatch(r"(float|double|u?int|longlong)_as_(float|double|u?int|longlong)", name):
        return lambda dtype, x: np.ascontiguousarray(x).view(dtype)
    if match := re.fullmatch(r"[fd](add|sub|mul|div|sqrt|rcp|rsqrt|ma)f?_(r[nduz])", name):
        return _arithmetic(_ARITHMETIC[match[1]], match[2])
    if match := re.fullmatch(r"(fma)f?_(r[nduz])", name):
        return _arithmetic(_ARITHMETIC["ma"], match[2])
    if match := re.fullmatch(r"(u?)mul(24|hi|64hi)", name):
        return _high if match[2] != "24" else _plain(_COMPOSED["mul24"])
    for base in (name, name.removesuffix("f"), name.removeprefix("fast_").removesuffix("f"), name.removeprefix("u")):
        if base in _MATH:
            return _plain(_each(_MATH[base]))
        if base in _COMPOSED:
            return _plain(_COMPOSED[base])
        if base in _NUMPY:
            return _plain(getattr(np, str(_NUMPY[base])))
    return None


def _words(x: Any) -> Any:
    """float64 as pairs of 32 bit words, the low one first."""
    return np.ascontiguousarray(x, np.float64)[..., None].view(np.int32)


def _byte_perm(x: Any, y: Any, selector: Any) -> Any:
    both = (np.asarray(y, np.uint64) & 0xFFFFFFFF) << np.uint64(32) | (np.asarray(x, np.uint64) & 0xFFFFFFFF)
    chosen = np.zeros_like(both)
    for place in range(4):
        index = (np.asarray(selector, np.uint64) >> np.uint64(4 * place)) & np.uint64(7)
        chosen |= (both >> (index * np.uint64(8)) & np.uint64(255)) << np.uint64(8 * place)
    return chosen.astype(np.uint32).view(np.int32)


_PARTS: dict[str, Function] = {
    "double2hiint": lambda x: _words(x)[..., 1],
    "double2loint": lambda x: _words(x)[..., 0],
    "hiloint2double": lambda high, low: np.stack([low, high], -1).astype(np.int32).view(np.float64)[..., 0],
    "rcp64h": lambda x: (np.reciprocal(x).view(np.int64) & ~0xFFFFFFFF).view(np.float64),
    "byte_perm": _byte_perm,
}


def _high(dtype: Any, x: Any, y: Any) -> Any:
    """The high half of the product of two integers."""
    width = dtype.itemsize * 8
    return np.vectorize(lambda a, b: (int(a) * int(b)) >> width, otypes=[dtype])(x, y)
