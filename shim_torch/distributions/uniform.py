"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution

__all__ = ["Uniform"]


class Uniform(Distribution):
    """The uniform distribution on [low, high)."""

    has_rsample = True
    _parameters = ("low", "high")
    low: Any
    high: Any

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._set(low=low, high=high), validate_args=validate_args)

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraints of the parameters, by name."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Values from ``low`` to ``high``."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        """(low + high) / 2."""
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Any:
        """NaN: no value is more likely than others."""
        return math.nan * self.high

    @property
    def stddev(self) -> Any:
        """(high - low) / sqrt(12)."""
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Any:
        """(high - low)^2 / 12."""
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        u = torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        value = self._checked(value)
        inside = (self.low.le(value) & self.high.gt(value)).type_as(self.low)
        return torch.log(inside) - torch.log(self.high - self.low)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        """The value below which a draw falls with probability ``value``: the inverse of ``cdf``."""
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return torch.log(self.high - self.low)
