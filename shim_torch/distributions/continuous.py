"""Distributions of real numbers."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution, ExponentialFamily
from shim_torch.distributions.utils import broadcast_all

__all__ = ["Exponential", "Gumbel", "HalfNormal", "Laplace", "LogNormal", "Normal", "Uniform"]
EULER = 0.57721566490153286060


def _shape(*values: Any) -> Any:
    return _core.Size() if all(isinstance(v, Number) for v in values) else None


class _LocationScale(Distribution):
    """loc and scale of one shape."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        shape = _shape(loc, scale)
        super().__init__(self.loc.size() if shape is None else shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.real

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution of mean ``loc`` and standard deviation ``scale``."""

    @property
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.scale.pow(2)

    def sample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        shape = self._extended_shape(sample_shape)
        with no_grad():
            return shim_torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        shape = self._extended_shape(sample_shape)
        return self.loc + shim_torch.randn(shape, dtype=self.loc.dtype, device=self.loc.device) * self.scale

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.variance) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()


class LogNormal(Distribution):
    """exp of a normal distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.base_dist = Normal(loc, scale, validate_args=validate_args)
        self.loc, self.scale = self.base_dist.loc, self.base_dist.scale
        super().__init__(self.base_dist.batch_shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.positive

    @property
    def mean(self) -> Any:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def variance(self) -> Any:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape).exp()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.base_dist.log_prob(value.log()) - value.log()

    def cdf(self, value: Any) -> Any:
        return self.base_dist.cdf(value.log())

    def __repr__(self) -> str:
        return "LogNormal()"

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class HalfNormal(Distribution):
    """The absolute value of a normal distribution of mean 0."""

    arg_constraints = {"scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self.base_dist = Normal(0 * scale if isinstance(scale, _core.TensorBase) else 0.0, scale, validate_args=False)
        self.scale = self.base_dist.scale
        super().__init__(self.base_dist.batch_shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.nonnegative

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.base_dist.log_prob(value) + math.log(2)

    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(value) - 1

    def __repr__(self) -> str:
        return "HalfNormal()"

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class Laplace(_LocationScale):
    """The double exponential distribution."""

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        shape = self._extended_shape(sample_shape)
        u = shim_torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device) * 2 - 1
        u = u.clamp(min=shim_torch.finfo(self.loc.dtype).eps - 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        d = value - self.loc
        return 0.5 - 0.5 * d.sign() * (-d.abs() / self.scale).expm1()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()


class Gumbel(_LocationScale):
    """The distribution of the largest of many draws."""

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * EULER

    @property
    def variance(self) -> Any:
        return (math.pi / math.sqrt(6) * self.scale).pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        info = shim_torch.finfo(self.loc.dtype)
        u = shim_torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        u = u.clamp(min=info.tiny, max=1 - info.eps)
        return self.loc - self.scale * (-u.log()).log()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def cdf(self, value: Any) -> Any:
        return (-((self.loc - value) / self.scale).exp()).exp()

    def entropy(self) -> Any:
        return self.scale.log() + (1 + EULER)


class Uniform(Distribution):
    """The uniform distribution on [low, high)."""

    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        shape = _shape(low, high)
        super().__init__(self.low.size() if shape is None else shape, validate_args=validate_args)
        if self._validate_args and not (self.low < self.high).all():
            raise ValueError(
                f"Expected parameter low (Tensor of shape {tuple(self.low.shape)}) of distribution {self!r} to satisfy the constraint "
                f"LessThan(upper_bound={self.high}), but found invalid values:\n{self.low}"
            )

    @property
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Any:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        shape = self._extended_shape(sample_shape)
        return self.low + shim_torch.rand(shape, dtype=self.low.dtype, device=self.low.device) * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        inside = (self.low.le(value) & self.high.gt(value)).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """The exponential distribution of rate ``rate``."""

    arg_constraints = {"rate": constraints.positive}
    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(_shape(rate) if _shape(rate) is not None else self.rate.size(), validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.nonnegative

    @property
    def mean(self) -> Any:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Any:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        return 1 - (-self.rate * value).exp()

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()
