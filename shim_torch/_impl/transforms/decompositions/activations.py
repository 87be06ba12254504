"""Decompositions of activations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shim_torch._impl.transforms.decompositions.formulas import _torch, formula


@formula("hardshrink")
def hardshrink(self: Any, lambd: float = 0.5) -> Any:
    """0 from -lambd to lambd, elsewhere the element."""
    return _torch().where((self >= -lambd) & (self <= lambd), 0, self)


@formula("softshrink", wide=True)
def softshrink(self: Any, lambd: float = 0.5) -> Any:
    """The element moved towards 0 by ``lambd``, and 0 (NaN of NaN) where it would pass it."""
    torch = _torch()
    return torch.where(self.abs() > lambd, self - self.sign() * lambd, self * 0)


@formula("threshold")
def threshold(self: Any, threshold: Any, value: Any) -> Any:
    """``value`` up to the threshold, above it the element."""
    return _torch().where(self <= threshold, value, self)


@formula("mish", wide=True)
def mish(self: Any) -> Any:
    """x tanh(softplus(x))."""
    return self * _torch().ops.aten.softplus(self).tanh()


@formula("softplus", wide=True)
def softplus(self: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    """log(1 + exp(beta x)) / beta; x itself where beta x is above the threshold."""
    scaled = self * beta
    return _torch().where(scaled > threshold, self, scaled.exp().log1p() / beta)


@formula("_prelu_kernel")
def _prelu_kernel(self: Any, weight: Any) -> Any:
    return _torch().where(self > 0, self, weight * self)


@formula("hardsigmoid", wide=True)
def hardsigmoid(self: Any) -> Any:
    """(x + 3) / 6 clamped to 0..1."""
    return (self + 3).clamp(0, 6) / 6


@formula("hardswish", wide=True)
def hardswish(self: Any) -> Any:
    """x times its hardsigmoid."""
    return self * (self + 3).clamp(0, 6) / 6


@formula("silu", wide=True)
def silu(self: Any) -> Any:
    """x times its sigmoid."""
    return self * self.sigmoid()


@formula("elu", wide=True)
def elu(self: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    """scale x above 0, elsewhere alpha scale (exp(input_scale x) - 1)."""
    return _torch().where(self > 0, self * scale, (self * input_scale).expm1() * (alpha * scale))


_GELU_CURVES: dict[
    str, Callable[[Any], Any]
] = {  # what takes x / 2 to its part: -1 far on the left, 1 far on the right
    "none": lambda x: (x * math.sqrt(0.5)).erf(),
    "tanh": lambda x: (math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)).tanh(),
}


@formula("gelu", wide=True)
def gelu(self: Any, *, approximate: str = "none") -> Any:
    """x times the normal distribution function, or its curve by tanh; RuntimeError for other words than these two."""
    if approximate not in _GELU_CURVES:
        raise RuntimeError("approximate argument must be either none or tanh.")
    return self * 0.5 * (1 + _GELU_CURVES[approximate](self))


@formula("leaky_relu", wide=True)
def leaky_relu(self: Any, negative_slope: Any = 0.01) -> Any:
    """The element above 0, elsewhere ``negative_slope`` times it."""
    return _torch().where(self > 0, self, self * negative_slope)


@formula("rrelu_with_noise_backward")
def rrelu_with_noise_backward(
    grad_output: Any, self: Any, noise: Any, lower: Any, upper: Any, training: bool, self_is_result: bool
) -> Any:
    """In training the gradient times the drawn slopes; else, and for equal bounds, leaky_relu's at their mean."""
    if training and upper - lower > 1e-6:
        return grad_output * noise
    return _torch().ops.aten.leaky_relu_backward(grad_output, self, (lower + upper) / 2, self_is_result)
