"""The Kumaraswamy distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.from_standard import FromStandard
from shim_torch.distributions import constraints
from shim_torch.distributions.transforms import AffineTransform, PowerTransform
from shim_torch.distributions.utils import _log_beta, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(FromStandard):
    """Values between 0 and 1, much like ``Beta``, with a cdf in closed form: 1 - (1 - x**a)**b."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    _parameters = ("base_dist", "concentration1", "concentration0")
    concentration1: Any
    concentration0: Any

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self._build(validate_args, concentration1=concentration1, concentration0=concentration0)

    def _steps(self) -> list[Any]:
        """The cdf solved for x: (1 - (1 - u) ** (1 / b)) ** (1 / a), where 1 - u is as uniform as u."""
        roots = [PowerTransform(c.reciprocal()) for c in (self.concentration0, self.concentration1)]
        return [roots[0], AffineTransform(1.0, -1.0), roots[1]]

    def _moment(self, n: int) -> Any:
        """E[x**n] = b * B(1 + n / a, b)."""
        a, b = self.concentration1, self.concentration0
        return b * _log_beta(1 + n / a, b).exp()

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return self._moment(1)

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return log_mode.exp().masked_fill((a < 1) | (b < 1), torch.nan)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        a, b = self.concentration1, self.concentration0
        harmonic = torch.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - torch.log(a) - torch.log(b)
