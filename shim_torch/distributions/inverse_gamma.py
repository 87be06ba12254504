"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from shim_torch.distributions import constraints
from shim_torch.distributions.gamma import Gamma
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import PowerTransform
from shim_torch.distributions.utils import member

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """One over a gamma draw."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    concentration, rate = member("base_dist.concentration"), member("base_dist.rate")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return (self.rate / (self.concentration - 1)).masked_fill(self.concentration <= 1, math.inf)

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        a = self.concentration
        return (self.rate.square() / ((a - 1).square() * (a - 2))).masked_fill(a <= 2, math.inf)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
