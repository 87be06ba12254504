"""``torch.distributions.transforms``: one-to-one functions with the log of their derivative."""

from __future__ import annotations

import math
from typing import Any

from shim_torch.distributions import constraints

__all__ = [
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """``t(x)``, ``t.inv(y)`` and ``t.log_abs_det_jacobian(x, y)``."""

    bijective = True
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size
        self._inverse: Any = None

    @property
    def event_dim(self) -> int:
        return int(self.domain.event_dim)

    @property
    def sign(self) -> Any:
        """1 for growing functions, -1 for falling ones."""
        return 1

    @property
    def inv(self) -> Transform:
        """The function back."""
        if self._inverse is None:
            self._inverse = _Inverse(self)
        return self._inverse

    def __call__(self, x: Any) -> Any:
        return self._call(x)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inv_call(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        return shape

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"


class _Inverse(Transform):
    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inverse = transform
        self.domain, self.codomain = transform.codomain, transform.domain

    @property
    def sign(self) -> Any:
        return self._inverse.sign

    def _call(self, x: Any) -> Any:
        return self._inverse._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._inverse._call(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inverse.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inverse!r})"


class ComposeTransform(Transform):
    """Several transforms, one after another."""

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = parts
        if parts:
            self.domain, self.codomain = parts[0].domain, parts[-1].codomain

    @property
    def sign(self) -> Any:
        return math.prod(p.sign for p in self.parts)

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        total: Any = x.new_zeros(x.shape)
        for part in self.parts:
            after = part(x)
            total = total + part.log_abs_det_jacobian(x, after)
            x = after
        return total


identity_transform = ComposeTransform([])


class AffineTransform(Transform):
    """y = loc + scale * x."""

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, (int, float)):
            return 1 if self.scale > 0 else -1 if self.scale < 0 else 0
        return self.scale.sign()

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inv_call(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        import shim_torch

        if isinstance(self.scale, (int, float)):
            found = shim_torch.full_like(x, math.log(abs(self.scale)))
        else:
            found = self.scale.abs().log()
        if self._event_dim:
            return found.expand(x.shape).flatten(-self._event_dim).sum(-1)
        return found.expand(x.shape)


class ExpTransform(Transform):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inv_call(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, for positive x."""

    domain = codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent

    def _call(self, x: Any) -> Any:
        return x.pow(self.exponent)

    def _inv_call(self, y: Any) -> Any:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(Transform):
    """y = sigmoid(x)."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        import shim_torch

        info = shim_torch.finfo(x.dtype)
        return x.sigmoid().clamp(min=info.tiny, max=1.0 - info.eps)

    def _inv_call(self, y: Any) -> Any:
        import shim_torch

        info = shim_torch.finfo(y.dtype)
        y = y.clamp(min=info.tiny, max=1.0 - info.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        import shim_torch

        return -shim_torch.nn.functional.softplus(-x) - shim_torch.nn.functional.softplus(x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        import shim_torch

        return shim_torch.nn.functional.softplus(x)

    def _inv_call(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        import shim_torch

        return -shim_torch.nn.functional.softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inv_call(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        import shim_torch

        return 2.0 * (math.log(2.0) - x - shim_torch.nn.functional.softplus(-2.0 * x))
