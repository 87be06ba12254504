"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions.chi2 import Chi2
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import _standard_normal

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
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        found = (self.scale.pow(2) * self.df / (self.df - 2)).masked_fill(self.df <= 2, math.inf)
        return found.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        normal = _standard_normal(self._extended_shape(sample_shape), dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * (normal * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df))

    def log_prob(self, value: Any) -> Any:
        y = (self._checked(value) - self.loc) / self.scale
        half = 0.5 * (self.df + 1.0)
        norm = self.scale.log() + 0.5 * (self.df.log() + math.log(math.pi)) + (0.5 * self.df).lgamma() - half.lgamma()
        return -half * torch.log1p(y**2.0 / self.df) - norm

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = math.lgamma(0.5) + half.lgamma() - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta

__getattr__ = _asked_of(__name__)
