"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.exp_family import ExponentialFamily
from shim_torch.distributions.utils import _log_gamma_density

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """How many independent events of mean count ``rate`` happen."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parameters = ("rate",)
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._set(rate=rate), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """``rate``."""
        return self.rate

    @property
    def mode(self) -> Any:
        """``rate`` rounded down."""
        return self.rate.floor()

    @property
    def variance(self) -> Any:
        """``rate``."""
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) without gradients."""
        with torch.no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of ``value``: sample shape and batch shape."""
        # As a function of the rate it is the density of the time until one event more.
        return _log_gamma_density(self._checked(value) + 1, self.rate)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (torch.log(self.rate),)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return torch.exp(x)
