"""``torch.distributions.transforms``: one-to-one functions with the log of their derivative; here, of single numbers."""

from __future__ import annotations

from numbers import Number
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.composed_transforms import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    identity_transform,
)
from shim_torch._impl.distributions.joined_transforms import CatTransform, StackTransform
from shim_torch._impl.distributions.transform import ByClass as _ByClass
from shim_torch._impl.distributions.transform import Transform, _InverseTransform  # noqa: F401 (PyTorch's name for it)
from shim_torch._impl.distributions.vector_transforms import (
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
    _clipped_sigmoid,
    log_slope_of_tanh,
)
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import _sum_rightmost, broadcast_all, lazy_property
from shim_torch.nn.functional import softplus

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class _Growing(_ByClass, Transform):
    """A growing function of real numbers without parameters."""

    domain = constraints.real
    bijective = True
    sign = 1  # type: ignore[assignment]


class ExpTransform(_Growing):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return x


class PowerTransform(Transform):
    """y = x ** exponent, for positive x."""

    domain = codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.exponent,)

    @lazy_property
    def sign(self) -> Any:  # type: ignore[override]
        """1 where the transform increases, -1 where it decreases; a tensor where that differs by element."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for an input of ``shape``."""
        return torch.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


class SigmoidTransform(_Growing):
    """y = 1 / (1 + exp(-x)), kept away from 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Any) -> Any:
        info = torch.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Growing):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return -softplus(-x)


class TanhTransform(_Growing):
    """y = tanh(x); its jacobian is computed without loss for large x, unlike that of a composition of others."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return log_slope_of_tanh(x)


class AbsTransform(_ByClass, Transform):
    """y = |x|; of the two values that come to y, the inverse gives the positive one."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    def _arguments(self) -> tuple[Any, ...]:
        return (self.loc, self.scale, self.event_dim)

    @property
    def event_dim(self) -> int:
        """How many dims the transform acts on together."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return constraints.real if self.event_dim == 0 else constraints.independent(constraints.real, self.event_dim)

    codomain = domain

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(
            a == b if isinstance(a, Number) and isinstance(b, Number) else (a == b).all().item() for a, b in pairs
        )

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        """1 where the transform increases, -1 where it decreases; a tensor where that differs by element."""
        if isinstance(self.scale, Number):
            return int(self.scale > 0) - int(self.scale < 0)  # type: ignore[operator]
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        scale = torch.full_like(x, self.scale) if isinstance(self.scale, Number) else self.scale  # type: ignore[call-overload]
        each = _sum_rightmost(scale.abs().log(), self.event_dim)
        return each.expand(x.shape[: x.dim() - self.event_dim])

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for an input of ``shape``."""
        return torch.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape
