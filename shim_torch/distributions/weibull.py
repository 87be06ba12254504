"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.from_standard import FromStandard
from shim_torch.distributions import constraints
from shim_torch.distributions.exponential import Exponential
from shim_torch.distributions.transforms import AffineTransform, PowerTransform
from shim_torch.distributions.utils import euler_constant

__all__ = ["Weibull"]


class Weibull(FromStandard):
    """scale * a standard exponential draw to the power of 1 / concentration."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _parameters = ("base_dist", "scale", "concentration", "concentration_reciprocal")
    scale: Any
    concentration: Any

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._build(validate_args, scale=scale, concentration=concentration)

    def _standard(self, like: Any, validate_args: bool | None) -> Any:
        return Exponential(torch.ones_like(like), validate_args)

    def _steps(self) -> list[Any]:
        self.concentration_reciprocal = self.concentration.reciprocal()
        return [PowerTransform(self.concentration_reciprocal), AffineTransform(0, self.scale)]

    @property
    def mean(self) -> Any:
        """scale Gamma(1 + 1 / k)."""
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        one = self.concentration_reciprocal
        return self.scale.pow(2) * (torch.exp(torch.lgamma(1 + 2 * one)) - torch.exp(2 * torch.lgamma(1 + one)))

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        one = self.concentration_reciprocal
        return euler_constant * (1 - one) + torch.log(self.scale * one) + 1
