"""Activation layers."""

from __future__ import annotations

import warnings
from typing import Any

import shim_torch
from shim_torch._impl.nn.modules.simple_layers import REQUIRED
from shim_torch._impl.nn.modules.simple_layers import functional_layer as layer
from shim_torch.nn import functional as F
from shim_torch.nn import init
from shim_torch.nn.modules.module import Module
from shim_torch.nn.parameter import Parameter

ReLU = layer("ReLU", "relu", "max(x, 0).", inplace=False)
ReLU6 = layer("ReLU6", "relu6", "min(max(x, 0), 6).", inplace=False)
SiLU = layer("SiLU", "silu", "x · sigmoid(x).", inplace=False)
Mish = layer("Mish", "mish", "x · tanh(softplus(x)).", inplace=False)
ELU = layer("ELU", "elu", "x where positive, alpha (eˣ - 1) elsewhere.", alpha=1.0, inplace=False)
CELU = layer("CELU", "celu", "max(0, x) + min(0, alpha (e^(x/alpha) - 1)).", alpha=1.0, inplace=False)
SELU = layer("SELU", "selu", "Scaled ELU.", inplace=False)
Softplus = layer("Softplus", "softplus", "log(1 + e^(beta x)) / beta.", beta=1.0, threshold=20.0)
LeakyReLU = layer("LeakyReLU", "leaky_relu", "x, times negative_slope below 0.", negative_slope=0.01, inplace=False)
Hardswish = layer("Hardswish", "hardswish", "x · relu6(x + 3) / 6.", inplace=False)
Hardsigmoid = layer("Hardsigmoid", "hardsigmoid", "relu6(x + 3) / 6.", inplace=False)
Hardshrink = layer("Hardshrink", "hardshrink", "x outside [-lambd, lambd], 0 inside.", lambd=0.5)
Softshrink = layer("Softshrink", "softshrink", "x moved toward 0 by lambd.", lambd=0.5)
Softsign = layer("Softsign", "softsign", "x / (1 + |x|).")
Tanhshrink = layer("Tanhshrink", "tanhshrink", "x - tanh(x).")
LogSigmoid = layer("LogSigmoid", "logsigmoid", "log(sigmoid(x)).")
GLU = layer("GLU", "glu", "Gated linear unit over halves of dim.", dim=-1)
GELU = layer("GELU", "gelu", "x · Φ(x); approximate='tanh' for the tanh form.", approximate="none")
Threshold = layer(
    "Threshold", "threshold", "x above threshold, value elsewhere.", threshold=REQUIRED, value=REQUIRED, inplace=False
)


def _extra_gelu(self: Any) -> str:
    return f"approximate={self.approximate!r}"


GELU.extra_repr = _extra_gelu  # type: ignore[method-assign]


def _extra_shrink(self: Any) -> str:
    return str(self.lambd)


Hardshrink.extra_repr = Softshrink.extra_repr = _extra_shrink  # type: ignore[method-assign]


class Sigmoid(Module):
    """1 / (1 + e⁻ˣ)."""

    def forward(self, input: Any) -> Any:
        """The sigmoid of each element; any shape."""
        return input.sigmoid()


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, input: Any) -> Any:
        """The hyperbolic tangent of each element; any shape."""
        return input.tanh()


class Hardtanh(Module):
    """x clamped to [min_val, max_val]."""

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: Any = None,
        max_value: Any = None,
    ) -> None:
        super().__init__()
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=2
                )
        min_val = min_val if min_value is None else min_value
        max_val = max_val if max_value is None else max_value
        if not max_val > min_val:
            raise AssertionError(f"max_val ({max_val}) must be greater than min_val ({min_val})")
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input: Any) -> Any:
        """Each element clamped to [min_val, max_val]; any shape."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """The settings that ``repr`` shows."""
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """Leaky ReLU with a random slope in training."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Any) -> Any:
        """Negative elements times a slope: random within [lower, upper] in training, else their mean."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The settings that ``repr`` shows."""
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """Leaky ReLU whose slope is learnt."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(shim_torch.empty((num_parameters,), dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets every slope to ``init``."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Any) -> Any:
        """Negative elements times ``weight``: one slope, or one for each channel (dim 1)."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The settings that ``repr`` shows."""
        return f"num_parameters={self.num_parameters}"


class _Softmax(Module):
    _function = "softmax"

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        return getattr(F, self._function)(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_Softmax):
    """e^x / Σ e^x over ``dim``."""


class LogSoftmax(_Softmax):
    """log(softmax(x)) over ``dim``."""

    _function = "log_softmax"


class Softmin(_Softmax):
    """softmax(-x) over ``dim``."""

    _function = "softmin"


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Any) -> Any:
        """Softmax over the channels of (C, H, W) or (N, C, H, W); ValueError for other numbers of dims."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)
