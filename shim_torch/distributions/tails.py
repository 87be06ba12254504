"""Distributions with heavy tails, and of positive values: Cauchy, HalfCauchy, Pareto, Weibull, InverseGamma, FisherSnedecor."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from native import _core
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.gamma import Gamma
from shim_torch.distributions.utils import broadcast_all

__all__ = ["Cauchy", "FisherSnedecor", "HalfCauchy", "InverseGamma", "Pareto", "Weibull"]


def _shape(first: Any, *values: Any) -> Any:
    return _core.Size() if all(isinstance(v, Number) for v in values) else first.size()


def _uniform(like: Any, shape: Any) -> Any:
    """Draws from the open interval (0, 1)."""
    import shim_torch

    finfo = shim_torch.finfo(like.dtype)
    return like.new_empty(shape).uniform_(finfo.tiny, 1 - finfo.eps)


class Cauchy(Distribution):
    """The Cauchy distribution around ``loc``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(_shape(self.loc, loc, scale), validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.real

    @property
    def mean(self) -> Any:
        return self.loc.new_full(self._extended_shape(), math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self.loc.new_full(self._extended_shape(), math.inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(Distribution):
    """The absolute value of a Cauchy draw around 0."""

    arg_constraints = {"scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast_all(scale)
        self.base_dist = Cauchy(0 * self.scale, self.scale, validate_args=False)
        super().__init__(_shape(self.scale, scale), validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.nonnegative

    @property
    def mean(self) -> Any:
        return self.scale.new_full(self._extended_shape(), math.inf)

    variance = mean

    @property
    def mode(self) -> Any:
        return self.scale.new_zeros(self.scale.shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return (self.base_dist.log_prob(value) + math.log(2)).masked_fill(value < 0, -math.inf)

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Any) -> Any:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class Pareto(Distribution):
    """Pareto's distribution of type 1: values from ``scale`` on."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(_shape(self.scale, scale, alpha), validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = _uniform(self.scale, self._extended_shape(sample_shape))
        return self.scale * (-u.log() / self.alpha).exp()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Any) -> Any:
        return self.scale * (1 - value) ** (-1 / self.alpha)

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()


class Weibull(Distribution):
    """Weibull's distribution of ``scale`` and shape ``concentration``."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        super().__init__(_shape(self.scale, scale, concentration), validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.positive

    @property
    def mean(self) -> Any:
        return self.scale * (1 + self.concentration.reciprocal()).lgamma().exp()

    @property
    def mode(self) -> Any:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Any:
        one = self.concentration.reciprocal()
        return self.scale.pow(2) * ((1 + 2 * one).lgamma().exp() - (2 * (1 + one).lgamma()).exp())

    def rsample(self, sample_shape: Any = ()) -> Any:
        u = _uniform(self.scale, self._extended_shape(sample_shape))
        return self.scale * (-u.log()) ** self.concentration.reciprocal()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        k, y = self.concentration, value / self.scale
        return k.log() - self.scale.log() + (k - 1) * y.log() - y**k

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value: Any) -> Any:
        return self.scale * (-(-value).log1p()) ** self.concentration.reciprocal()

    def entropy(self) -> Any:
        one = self.concentration.reciprocal()
        return 0.57721566490153286060 * (1 - one) + (self.scale * one).log() + 1


class InverseGamma(Distribution):
    """One over a gamma draw."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    has_rsample = True

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.base_dist = Gamma(concentration, rate, validate_args=False)
        self.concentration, self.rate = self.base_dist.concentration, self.base_dist.rate
        super().__init__(self.base_dist.batch_shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.positive

    @property
    def mean(self) -> Any:
        return (self.rate / (self.concentration - 1)).masked_fill(self.concentration <= 1, math.inf)

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        a = self.concentration
        return (self.rate.square() / ((a - 1).square() * (a - 2))).masked_fill(a <= 2, math.inf)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape).reciprocal()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.base_dist.log_prob(value.reciprocal()) - 2 * value.log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 1 - self.base_dist.cdf(value.reciprocal())

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """Fisher's F: the ratio of two chi-squared draws over their degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1, self._gamma2 = Gamma(self.df1 * 0.5, self.df1), Gamma(self.df2 * 0.5, self.df2)
        super().__init__(_shape(self.df1, df1, df2), validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.positive

    @property
    def mean(self) -> Any:
        return (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, math.nan)

    @property
    def mode(self) -> Any:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return found.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Any:
        d = self.df2.masked_fill(self.df2 <= 4, math.nan)
        return 2 * d.pow(2) * (self.df1 + d - 2) / (self.df1 * (d - 2).pow(2) * (d - 4))

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        first, second = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = shim_torch.finfo(second.dtype).tiny
        return (first / second.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        norm = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return norm + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
