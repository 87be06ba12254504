"""Gamma and what is made of it: Chi2, Beta, Dirichlet, StudentT, NegativeBinomial, Poisson; and transformed distributions."""

from __future__ import annotations

import math
from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.distributions import constraints
from shim_torch.distributions.discrete import _ProbsOrLogits
from shim_torch.distributions.distribution import Distribution, ExponentialFamily
from shim_torch.distributions.transforms import ComposeTransform, Transform
from shim_torch.distributions.utils import broadcast_all

__all__ = ["Beta", "Chi2", "Dirichlet", "Gamma", "NegativeBinomial", "Poisson", "StudentT", "TransformedDistribution"]


def standard_gamma(alpha: Any) -> Any:
    """Draws of shape parameter ``alpha`` and rate 1; gradients flow to ``alpha``."""
    import shim_torch

    return shim_torch.ops.aten._standard_gamma(alpha)


class Gamma(ExponentialFamily):
    """The gamma distribution of shape ``concentration`` and rate ``rate``."""

    has_rsample = True

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        numbers = all(isinstance(v, (int, float)) for v in (concentration, rate))
        super().__init__(_core.Size() if numbers else self.concentration.size(), validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.nonnegative

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return value.clamp(min=shim_torch.finfo(value.dtype).tiny)

    def cdf(self, value: Any) -> Any:
        import shim_torch

        self._validate_sample(value)
        return shim_torch.igamma(self.concentration, self.rate * value)

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a, b = self.concentration, self.rate
        return a.xlogy(b) + (a - 1).xlogy(value) - b * value - a.lgamma()

    def entropy(self) -> Any:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()


class Chi2(Gamma):
    """The sum of ``df`` squared normal draws."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        self.df = df if isinstance(df, _core.TensorBase) else broadcast_all(df)[0]
        super().__init__(0.5 * self.df, 0.5, validate_args=validate_args)


class Dirichlet(ExponentialFamily):
    """Probabilities that add up to one."""

    has_rsample = True

    arg_constraints = {"concentration": constraints._Between(0.0, open_lower=True)}

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.simplex

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        return shim_torch.ops.aten._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Any:
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1.0) * a.digamma()).sum(-1)


class Beta(ExponentialFamily):
    """Values between 0 and 1."""

    has_rsample = True

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        import shim_torch

        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        self._dirichlet = Dirichlet(
            shim_torch.stack([self.concentration1, self.concentration0], -1), validate_args=False
        )
        super().__init__(self._dirichlet.batch_shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.unit_interval

    @property
    def mean(self) -> Any:
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self) -> Any:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Any) -> Any:
        import shim_torch

        self._validate_sample(value)
        return self._dirichlet.log_prob(shim_torch.stack([value, 1.0 - value], -1))

    def entropy(self) -> Any:
        return self._dirichlet.entropy()


class StudentT(Distribution):
    """Student's t of ``df`` degrees of freedom, moved and scaled."""

    has_rsample = True

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.real

    @property
    def mean(self) -> Any:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        import shim_torch

        found = self.scale.pow(2) * self.df / (self.df - 2)
        found = shim_torch.where(self.df > 2, found, math.inf)
        return found.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        x = shim_torch.randn(self._extended_shape(sample_shape), dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * x * (self._chi2.rsample(sample_shape) / self.df).rsqrt()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        y = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        norm = norm + (0.5 * self.df).lgamma() - (0.5 * (self.df + 1.0)).lgamma()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - norm

    def entropy(self) -> Any:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta


class Poisson(ExponentialFamily):
    """Counts of mean ``rate``."""

    arg_constraints = {"rate": constraints.nonnegative}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(
            _core.Size() if isinstance(rate, (int, float)) else self.rate.size(), validate_args=validate_args
        )

    @property
    def support(self) -> Any:
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Any:
        return self.rate

    variance = mean

    def sample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        with no_grad():
            return shim_torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()


class NegativeBinomial(_ProbsOrLogits):
    """The number of successes before ``total_count`` failures."""

    arg_constraints = {
        "total_count": constraints.nonnegative,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self.total_count, value = broadcast_all(total_count, probs if logits is None else logits)
        shape = self._set(value, None) if logits is None else self._set(None, value)
        super().__init__(shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Any:
        return self.total_count * self.logits.exp()

    @property
    def variance(self) -> Any:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        with no_grad():
            rate = Gamma(self.total_count, (-self.logits).exp(), validate_args=False).sample(sample_shape)
            return shim_torch.poisson(rate)

    def log_prob(self, value: Any) -> Any:
        import shim_torch

        self._validate_sample(value)
        softplus = shim_torch.nn.functional.softplus
        plain = self.total_count * -softplus(self.logits) + value * -softplus(-self.logits)
        norm = (1.0 + value).lgamma() + self.total_count.lgamma() - (self.total_count + value).lgamma()
        return plain - norm.masked_fill(self.total_count + value == 0.0, 0.0)


class TransformedDistribution(Distribution):
    """A distribution whose draws go through transforms."""

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        self.base_dist = base_distribution
        super().__init__(base_distribution.batch_shape, base_distribution.event_shape, validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:
        return self.transforms[-1].codomain if self.transforms else self.base_dist.support

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return ComposeTransform(self.transforms)(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return ComposeTransform(self.transforms)(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform._inv_call(y)
            jacobian = transform.log_abs_det_jacobian(x, y)
            extra = len(self.event_shape) - transform.event_dim
            total = total - (jacobian.flatten(-extra).sum(-1) if extra > 0 else jacobian)
            y = x
        return total + self.base_dist.log_prob(y)

    def cdf(self, value: Any) -> Any:
        sign = ComposeTransform(self.transforms).sign
        found = self.base_dist.cdf(ComposeTransform(self.transforms)._inv_call(value))
        return sign * (found - 0.5) + 0.5

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}()"
