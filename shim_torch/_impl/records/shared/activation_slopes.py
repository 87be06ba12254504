"""The gradients of activations over arrays: what their kernels are tested against."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.arrays.special import special

SLOPES = {
    "leaky_relu_backward": lambda xp, x, p, q, r: xp.where(x > 0, 1, p),
    "elu_backward": lambda xp, x, p, q, r: xp.where(x <= 0, p * q * r * xp.exp(xp.minimum(x, 0) * r), q),
    "softplus_backward": lambda xp, x, p, q, r: xp.where(x * p > q, 1, 1 / (1 + xp.exp(-x * p))),
    "hardtanh_backward": lambda xp, x, p, q, r: ~((x <= p) | (x >= q)),
    "hardswish_backward": lambda xp, x, p, q, r: xp.where(x <= -3, 0, xp.where(x < 3, x / 3 + 0.5, 1)),
    "hardsigmoid_backward": lambda xp, x, p, q, r: ((x > -3) & (x < 3)) / 6,
    "prelu_weight_backward": lambda xp, x, p, q, r: xp.where(x >= 0, 0, x),
    "log_sigmoid_backward": lambda xp, x, p, q, r: 1 / (1 + xp.exp(x)),
}


def activation_slope(xp: Any, g: Any, x: Any, name: str, p: float = 0.0, q: float = 0.0, r: float = 0.0) -> Any:
    """g · f'(x) of an activation's backward, from its input or, of sigmoid, tanh and relu, its result."""
    if name in SLOPES:
        return g * SLOPES[name](xp, x, p, q, r).astype(x.dtype)
    if name == "relu_backward":
        return xp.where(x <= 0, g.dtype.type(0), g)
    if name in ("sigmoid_backward", "tanh_backward"):
        return g * (x * (1 - x) if name == "sigmoid_backward" else 1 - x * x)
    if name == "silu_backward":
        s = 1 / (1 + xp.exp(-x))
        return g * s * (1 + x * (1 - s))
    if name == "gelu_tanh_backward":
        c = math.sqrt(2 / math.pi)
        t = xp.tanh(c * (x + 0.044715 * x * x * x))
        return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x))
    if name == "mish_backward":
        e = xp.exp(xp.minimum(x, 20))
        t = e * (e + 2) / (e * (e + 2) + 2)
        return xp.where(x > 20, g, g * (t + x * (1 - t * t) / (1 + xp.exp(-x))))
    cdf = 0.5 * (1 + special(xp, "erf")(x * x.dtype.type(1 / math.sqrt(2))))
    return g * (cdf + x * xp.exp(-0.5 * x * x) * x.dtype.type(1 / math.sqrt(2 * math.pi)))
