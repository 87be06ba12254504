"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

from shim_torch.distributions import constraints
from shim_torch.distributions.normal import Normal
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import ExpTransform
from shim_torch.distributions.utils import member

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """exp of a normal draw."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    loc, scale = member("base_dist.loc"), member("base_dist.scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return self.base_dist.entropy() + self.loc
