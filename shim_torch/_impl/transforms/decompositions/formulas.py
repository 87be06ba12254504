"""Operators of one kernel here written with smaller ones: pointwise functions, activations, sums and products."""

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


# --- pointwise functions ------------------------------------------------------------------------------------------------


@formula("addcdiv", wide=True)
def addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return self + value * (tensor1 / tensor2)


@formula("addcmul", wide=True)
def addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    return self + value * tensor1 * tensor2


@formula("deg2rad", wide=True)
def deg2rad(self: Any) -> Any:
    return self * (math.pi / 180)


@formula("rad2deg", wide=True)
def rad2deg(self: Any) -> Any:
    return self * (180 / math.pi)


@formula("frac")
def frac(self: Any) -> Any:
    return self - self.trunc()


@formula("heaviside")
def heaviside(self: Any, values: Any) -> Any:
    found = _torch().where(self == 0, values, self > 0)
    return found.masked_fill(self.isnan(), 0) if self.dtype.is_floating_point else found


@formula("isneginf")
def isneginf(self: Any) -> Any:
    return self == -math.inf


@formula("isposinf")
def isposinf(self: Any) -> Any:
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
    torch = _torch()
    high = torch.maximum(self, other)
    found = high + torch.exp2(-(self - other).abs()).log1p() / math.log(2)
    return torch.where((self == other) & self.isinf(), self, found)


@formula("logit", wide=True)
def logit(self: Any, eps: float | None = None) -> Any:
    x = _floating(self)
    x = x if eps is None else x.clamp(eps, 1 - eps)
    return (x / (1 - x)).log()


@formula("sgn")
def sgn(self: Any) -> Any:
    if not self.dtype.is_complex:
        return self.sign()
    size = self.abs()
    return _torch().where(size == 0, 0, self / size)


@formula("sinc", wide=True)
def sinc(self: Any) -> Any:
    x = math.pi * _floating(self)
    return _torch().where(x == 0, 1, x.sin() / x)


@formula("special_entr", wide=True)
def special_entr(self: Any) -> Any:
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
    torch = _torch()
    scaled = _floating(self) * math.sqrt(0.5)
    below = (torch.special.erfcx(-scaled) / 2).log() - scaled * scaled
    return torch.where(scaled < -math.sqrt(0.5), below, (-scaled.erfc() / 2).log1p())


@formula("xlogy.Tensor", wide=True)
def xlogy(self: Any, other: Any) -> Any:
    product = self * _floating(other).log()
    return _torch().where(other.isnan(), other.to(product.dtype), _torch().where(self == 0, 0.0, product))


@formula("special_xlog1py", wide=True)
def special_xlog1py(self: Any, other: Any) -> Any:
    product = self * _floating(other).log1p()
    return _torch().where(other.isnan(), other.to(product.dtype), _torch().where(self == 0, 0.0, product))


@formula("floor_divide")
def floor_divide(self: Any, other: Any) -> Any:
    return _torch().div(self, other, rounding_mode="floor")


# --- activations --------------------------------------------------------------------------------------------------------


@formula("hardshrink")
def hardshrink(self: Any, lambd: float = 0.5) -> Any:
    return _torch().where((self >= -lambd) & (self <= lambd), 0, self)


@formula("softshrink", wide=True)
def softshrink(self: Any, lambd: float = 0.5) -> Any:
    torch = _torch()
    return torch.where(self.abs() > lambd, self - self.sign() * lambd, self * 0)


@formula("threshold")
def threshold(self: Any, threshold: Any, value: Any) -> Any:
    return _torch().where(self <= threshold, value, self)


@formula("mish", wide=True)
def mish(self: Any) -> Any:
    return self * _torch().ops.aten.softplus(self).tanh()


@formula("softplus", wide=True)
def softplus(self: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    scaled = self * beta
    return _torch().where(scaled > threshold, self, scaled.exp().log1p() / beta)


@formula("_prelu_kernel")
def _prelu_kernel(self: Any, weight: Any) -> Any:
    return _torch().where(self > 0, self, weight * self)


@formula("hardsigmoid", wide=True)
def hardsigmoid(self: Any) -> Any:
    return (self + 3).clamp(0, 6) / 6


@formula("hardswish", wide=True)
def hardswish(self: Any) -> Any:
    return self * (self + 3).clamp(0, 6) / 6


@formula("silu", wide=True)
def silu(self: Any) -> Any:
    return self * self.sigmoid()


@formula("elu", wide=True)
def elu(self: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    return _torch().where(self > 0, self * scale, (self * input_scale).expm1() * (alpha * scale))


_GELU_CURVES: dict[
    str, Callable[[Any], Any]
] = {  # what takes x / 2 to its part: -1 far on the left, 1 far on the right
    "none": lambda x: (x * math.sqrt(0.5)).erf(),
    "tanh": lambda x: (math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)).tanh(),
}


@formula("gelu", wide=True)
def gelu(self: Any, *, approximate: str = "none") -> Any:
    if approximate not in _GELU_CURVES:
        raise RuntimeError("approximate argument must be either none or tanh.")
    return self * 0.5 * (1 + _GELU_CURVES[approximate](self))


@formula("leaky_relu", wide=True)
def leaky_relu(self: Any, negative_slope: Any = 0.01) -> Any:
    return _torch().where(self > 0, self, self * negative_slope)


@formula("rrelu_with_noise_backward")
def rrelu_with_noise_backward(
    grad_output: Any, self: Any, noise: Any, lower: Any, upper: Any, training: bool, self_is_result: bool
) -> Any:
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return _torch().ops.aten.leaky_relu_backward(grad_output, self, (lower + upper) / 2, self_is_result)


# --- sums and products --------------------------------------------------------------------------------------------------


@formula("fill.Scalar", "fill.Tensor")
def fill(self: Any, value: Any) -> Any:
    """Not by ``fill_``, whose own decomposition this is."""
    torch = _torch()
    if isinstance(value, torch.Tensor):
        return torch.where(torch.ones_like(self, dtype=torch.bool), value.to(self.dtype), self)
    return torch.full_like(self, value)
