"""The exponential distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.exp_family import ExponentialFamily

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """The time between events that happen at rate ``rate``."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("rate",)
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._set(rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return self.rate.reciprocal()

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return torch.zeros_like(self.rate)

    @property
    def stddev(self) -> Any:
        """The standard deviation, of the batch and event shape."""
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        return 1 - torch.exp(-self.rate * self._checked(value))

    def icdf(self, value: Any) -> Any:
        """The value below which a draw falls with probability ``value``: the inverse of ``cdf``."""
        return -torch.log1p(-value) / self.rate

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return 1.0 - torch.log(self.rate)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return -torch.log(-x)
