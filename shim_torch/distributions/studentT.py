"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.chi2 import Chi2
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import _log_beta, _standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale * a normal draw over the root of a mean of ``df`` squared normal draws."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = ("df", "loc", "scale", "_chi2")
    df: Any
    loc: Any
    scale: Any

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        shape = self._set(df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """``loc``; NaN for up to 1 degree of freedom."""
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Any:
        """``loc``."""
        return self.loc

    @property
    def variance(self) -> Any:
        """scale^2 df / (df - 2); infinite for df up to 2, NaN up to 1."""
        found = (self.scale.pow(2) * self.df / (self.df - 2)).masked_fill(self.df <= 2, math.inf)
        return found.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        normal = _standard_normal(self._extended_shape(sample_shape), dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * (normal * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def _log_width(self) -> Any:
        """The log of what one over the density at its peak is."""
        return self.scale.log() + self.df.log() / 2 + _log_beta(self.df / 2, self.df.new_tensor(0.5))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        squared = ((self._checked(value) - self.loc) / self.scale).square()
        return -self._log_width() - (self.df + 1) / 2 * torch.log1p(squared / self.df)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        rise = torch.digamma((self.df + 1) / 2) - torch.digamma(self.df / 2)
        return self._log_width() + (self.df + 1) / 2 * rise
