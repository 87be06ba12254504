"""Operators of one kernel here written with smaller ones: how they are declared, and pointwise functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

from shim_torch._impl.native import _core

FORMULAS: dict[str, Callable[..., Any]] = {}
_NARROW = (_core.float16, _core.bfloat16)


def formula(*names: str, wide: bool = False) -> Callable[[Any], Any]:
    """A decorator: the function stands for these operators. ``wide``: halves go in as float32 and come out as they were."""

    def decorate(fn: Any) -> Any:
        kept = _widened(fn) if wide else fn
        for name in names:
            FORMULAS[name] = kept
        return kept

    return decorate


def _is_tensor(t: Any) -> bool:
    return isinstance(t, _core.TensorBase)


def _widened(fn: Any) -> Any:
    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        tensors = [a for a in args if _is_tensor(a)]
        narrow = next((t.dtype for t in tensors if t.dtype in _NARROW), None)
        if narrow is None:
            return fn(*args, **kwargs)
        given = [a.float() if _is_tensor(a) and a.dtype in _NARROW else a for a in args]
        found = fn(*given, **kwargs)
        back = tensors[0].dtype if tensors[0].dtype.is_floating_point else narrow
        return tuple(f.to(back) for f in found) if isinstance(found, tuple) else found.to(back)

    return run


def _torch() -> Any:
    import shim_torch

    return shim_torch


def _floating(x: Any) -> Any:
    """Whole numbers and bools as the default dtype."""
    return x if x.dtype.is_floating_point or x.dtype.is_complex else x.to(_core.get_default_dtype())


@formula("addcdiv", wide=True)
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``self + value * (tensor1 / tensor2)``."""
    return self + value * (tensor1 / tensor2)


@formula("addcmul", wide=True)
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """``self + value * tensor1 * tensor2``."""
    return self + value * tensor1 * tensor2


@formula("deg2rad", wide=True)
def deg2rad(self: Any) -> Any:
    """Degrees in radians."""
    return self * (math.pi / 180)


@formula("rad2deg", wide=True)
def rad2deg(self: Any) -> Any:
    """Radians in degrees."""
    return self * (180 / math.pi)


@formula("frac")
def frac(self: Any) -> Any:
    """What is behind the point, with the sign of the element."""
    return self - self.trunc()


@formula("heaviside")
def heaviside(self: Any, values: Any) -> Any:
    """0 for negative elements and NaN, 1 for positive ones, ``values`` at 0."""
    found = _torch().where(self == 0, values, self > 0)
    return found.masked_fill(self.isnan(), 0) if self.dtype.is_floating_point else found


@formula("isneginf")
def isneginf(self: Any) -> Any:
    """Which elements are negative infinity."""
    return self == -math.inf


@formula("isposinf")
def isposinf(self: Any) -> Any:
    """Which elements are positive infinity."""
    return self == math.inf


@formula("lerp.Scalar", "lerp.Tensor", wide=True)
def lerp(self: Any, end: Any, weight: Any) -> Any:
    """From the end that is nearer, so that a weight of 1 gives ``end`` itself."""
    torch = _torch()
    near = weight.abs() < 0.5 if _is_tensor(weight) else torch.full((), abs(weight) < 0.5, device=self.device)
    return torch.where(near, self + weight * (end - self), end - (end - self) * (1 - weight))


@formula("logaddexp", wide=True)
def logaddexp(self: Any, other: Any) -> Any:
    """The larger one and the logarithm of what the other adds."""
    torch = _torch()
    if self.dtype.is_complex or other.dtype.is_complex:
        swap = self.real >= other.real
        high, low = torch.where(swap, self, other), torch.where(swap, other, self)
        return torch.where(high == low, high + math.log(2), high + (low - high).exp().log1p())
    high = torch.maximum(self, other)
    found = high + (-(self - other).abs()).exp().log1p()
    return torch.where((self == other) & self.isinf(), self, found)


@formula("logaddexp2", wide=True)
def logaddexp2(self: Any, other: Any) -> Any:
    """As ``logaddexp``, of powers of 2."""
    torch = _torch()
    high = torch.maximum(self, other)
    found = high + torch.exp2(-(self - other).abs()).log1p() / math.log(2)
    return torch.where((self == other) & self.isinf(), self, found)


@formula("logit", wide=True)
def logit(self: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)), of elements that are first clamped to ``eps``..1 - ``eps`` if that is given."""
    x = _floating(self)
    x = x if eps is None else x.clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


@formula("sgn")
def sgn(self: Any) -> Any:
    """The sign; of a complex element x / |x|, and 0 of 0."""
    if not self.dtype.is_complex:
        return self.sign()
    size = self.abs()
    return _torch().where(size == 0, 0, self / size)


@formula("sinc", wide=True)
def sinc(self: Any) -> Any:
    """sin(πx) / (πx), and 1 at 0."""
    x = math.pi * _floating(self)
    return _torch().where(x == 0, 1, x.sin() / x)


@formula("special_entr", wide=True)
def special_entr(self: Any) -> Any:
    """-x log(x), 0 at 0, and negative infinity below."""
    torch, x = _torch(), _floating(self)
    found = torch.where(x > 0, -x * x.log(), torch.where(x == 0, 0.0, -math.inf))
    return torch.where(x.isnan(), x, found)


@formula("special_ndtr", wide=True)
def special_ndtr(self: Any) -> Any:
    """By the function of the side that loses nothing."""
    scaled = _floating(self) * math.sqrt(0.5)
    return _torch().where(scaled < -math.sqrt(0.5), 0.5 * (-scaled).erfc(), 0.5 * (1 + scaled.erf()))


@formula("special_log_ndtr", wide=True)
def special_log_ndtr(self: Any) -> Any:
    """The logarithm of the normal distribution function; far on the left by erfcx, which does not underflow."""
    torch = _torch()
    scaled = _floating(self) * math.sqrt(0.5)
    below = (torch.special.erfcx(-scaled) / 2).log() - scaled * scaled
    return torch.where(scaled < -math.sqrt(0.5), below, (-scaled.erfc() / 2).log1p())


@formula("xlogy.Tensor", wide=True)
def xlogy(self: Any, other: Any) -> Any:
    """self * log(other), 0 where ``self`` is, and NaN where ``other`` is."""
    product = self * _floating(other).log()
    return _torch().where(other.isnan(), other.to(product.dtype), _torch().where(self == 0, 0.0, product))


@formula("special_xlog1py", wide=True)
def special_xlog1py(self: Any, other: Any) -> Any:
    """self * log(1 + other), 0 where ``self`` is, and NaN where ``other`` is."""
    product = self * _floating(other).log1p()
    return _torch().where(other.isnan(), other.to(product.dtype), _torch().where(self == 0, 0.0, product))


@formula("floor_divide")
def floor_divide(self: Any, other: Any) -> Any:
    """The quotient rounded down."""
    return _torch().div(self, other, rounding_mode="floor")


@formula("fill.Scalar", "fill.Tensor")
def fill(self: Any, value: Any) -> Any:
    """Not by ``fill_``, whose own decomposition this is."""
    torch = _torch()
    if isinstance(value, torch.Tensor):
        return torch.where(torch.ones_like(self, dtype=torch.bool), value.to(self.dtype), self)
    return torch.full_like(self, value)
