"""The generalized Pareto distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """What exceeds a high threshold ``loc``: heavy tails for a positive ``concentration``, bounded for a negative one."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _parameters = ("loc", "scale", "concentration")
    loc: Any
    scale: Any
    concentration: Any

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        shape = self._set(loc=loc, scale=scale, concentration=concentration)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """The constraint that values satisfy, given the parameters."""
        upper = torch.where(self.concentration < 0, self.loc - self.scale / self.concentration, torch.inf)
        return constraints.interval(self.loc, upper)

    def _split(self) -> tuple[Any, Any]:
        """Where the concentration is 0, and the concentration with ones there, to divide by."""
        zero = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        return zero, torch.where(zero, torch.ones_like(self.concentration), self.concentration)

    def _z(self, x: Any) -> Any:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        z = self._z(self._checked(value))
        zero, k = self._split()
        return torch.where(zero, -z, -(1 + 1 / k) * torch.log1p(k * z)) - self.scale.log()

    def log_survival_function(self, value: Any) -> Any:
        """log P(x > value)."""
        z = self._z(self._checked(value))
        zero, k = self._split()
        return torch.where(zero, -z, -torch.log1p(k * z) / k)

    def log_cdf(self, value: Any) -> Any:
        """log P(x <= value)."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        return torch.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Any:
        """The value below which a draw falls with probability ``value``: the inverse of ``cdf``."""
        zero, k = self._split()
        left = torch.log1p(-torch.as_tensor(value, dtype=self.loc.dtype, device=self.loc.device))
        return self.loc + self.scale * torch.where(zero, -left, torch.expm1(-k * left) / k)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        k = self.concentration
        return (self.loc + self.scale / (1 - k)).masked_fill(k >= 1, torch.nan)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        k = self.concentration
        return (self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))).masked_fill(k >= 0.5, torch.nan)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return (torch.log(self.scale) + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return self.loc
