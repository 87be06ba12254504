"""The Fisher-Snedecor distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.gamma import Gamma
from shim_torch.distributions.utils import _log_beta

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """Fisher's F: the ratio of two chi-squared draws, each over its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ("df1", "df2", "_gamma1", "_gamma2")
    df1: Any
    df2: Any

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        shape = self._set(df1=df1, df2=df2)
        # A chi-squared draw over its degrees of freedom.
        self._gamma1, self._gamma2 = (Gamma(df / 2, df) for df in (self.df1, self.df2))
        super().__init__(shape, validate_args=validate_args)

    def _df2_above(self, bound: int) -> Any:
        """The second degrees of freedom where a moment exists, NaN elsewhere."""
        return torch.where(self.df2 > bound, self.df2, math.nan)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        d = self._df2_above(2)
        return d / (d - 2)

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return found.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        d = self._df2_above(4)
        coefficient = 2 * (self.df1 + d - 2) / (self.df1 * (d - 4))  # of variation, squared
        return coefficient * (d / (d - 2)).square()

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = torch.finfo(below.dtype).tiny
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Any) -> Any:
        """``df1 / df2 * value`` has the beta prime distribution of half the degrees of freedom."""
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        odds = ratio * self._checked(value)
        return ratio.log() + (a - 1) * odds.log() - (a + b) * odds.log1p() - _log_beta(a, b)
