"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.location_scale import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """The double exponential distribution around ``loc``."""

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        """The standard deviation, of the batch and event shape."""
        return 2**0.5 * self.scale

    def _quantile(self, u: Any) -> Any:
        """The value that u from -1 to 1 stands for, where 0 is the median: both sides are exponential."""
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        eps = torch.finfo(self.loc.dtype).eps
        return self._quantile(self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(eps - 1, 1))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        return -torch.log(2 * self.scale) - torch.abs(self._checked(value) - self.loc) / self.scale

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        away = self._checked(value) - self.loc
        return 0.5 - 0.5 * away.sign() * torch.expm1(-away.abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        """The value below which a draw falls with probability ``value``: the inverse of ``cdf``."""
        return self._quantile(2 * value - 1)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return 1 + torch.log(2 * self.scale)
