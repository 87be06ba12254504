"""Distributions over vectors and of several components: MultivariateNormal, Multinomial, Binomial, MixtureSameFamily."""

from __future__ import annotations

import math
from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.distributions import constraints
from shim_torch.distributions.discrete import Categorical, _ProbsOrLogits
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import broadcast_all

__all__ = ["Binomial", "MixtureSameFamily", "Multinomial", "MultivariateNormal"]


class MultivariateNormal(Distribution):
    """The normal distribution over vectors, by its covariance, precision or the covariance's Cholesky factor."""

    arg_constraints = {"loc": constraints.real_vector}
    has_rsample = True

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        import shim_torch

        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        (matrix,) = given
        if matrix.dim() < 2:
            name = (
                "scale_tril"
                if scale_tril is not None
                else "covariance_matrix"
                if precision_matrix is None
                else "precision_matrix"
            )
            raise ValueError(f"{name} matrix must be at least two-dimensional, with optional leading batch dimensions")
        batch = shim_torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        n = loc.shape[-1:]
        matrix = matrix.expand(batch + (*n, *n))
        self.loc = loc.expand(batch + n)
        cholesky = shim_torch.linalg.cholesky
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = self.scale_tril = matrix
        elif precision_matrix is None:
            self.covariance_matrix = matrix
            self._unbroadcasted_scale_tril = self.scale_tril = cholesky(matrix)
        else:
            self.precision_matrix = matrix
            turned = cholesky(matrix.flip((-2, -1)))  # the factor of the inverse, without the inverse
            inverse = turned.flip((-2, -1)).mT
            eye = shim_torch.eye(*n, dtype=loc.dtype, device=loc.device)
            self.scale_tril = shim_torch.linalg.solve_triangular(inverse, eye, upper=False)
            self._unbroadcasted_scale_tril = self.scale_tril
        super().__init__(batch, n, validate_args=validate_args)

    def __getattr__(self, name: str) -> Any:
        import shim_torch

        if name == "covariance_matrix":
            return self.scale_tril @ self.scale_tril.mT
        if name == "precision_matrix":
            return shim_torch.cholesky_inverse(self.scale_tril)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        batch, n = _core.Size(batch_shape), self.event_shape
        return MultivariateNormal(
            self.loc.expand(batch + n), scale_tril=self.scale_tril.expand(batch + n + n), validate_args=False
        )

    @property
    def support(self) -> Any:
        return constraints.real_vector

    @property
    def mean(self) -> Any:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        return self.scale_tril.pow(2).sum(-1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        noise = shim_torch.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Any:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        import shim_torch

        self._validate_sample(value)
        away = (value - self.loc).unsqueeze(-1)
        lower = self.scale_tril.expand(away.shape[:-2] + self.scale_tril.shape[-2:])
        m = shim_torch.linalg.solve_triangular(lower, away, upper=False).pow(2).sum((-2, -1))
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + m) - self._half_log_det()

    def entropy(self) -> Any:
        return 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


class Binomial(_ProbsOrLogits):
    """How many of ``total_count`` trials succeed."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self.total_count, value = broadcast_all(total_count, probs if logits is None else logits)
        self.total_count = self.total_count.type_as(value)
        shape = self._set(value, None) if logits is None else self._set(None, value)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        shape = _core.Size(batch_shape)
        name = "probs" if self._param is self.__dict__.get("probs") else "logits"
        return Binomial(self.total_count.expand(shape), **{name: self._param.expand(shape)}, validate_args=False)

    @property
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        shape = self._extended_shape(sample_shape)
        with no_grad():
            return shim_torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n, x = self.total_count, self.logits
        ways = (value + 1).lgamma() + (n - value + 1).lgamma()
        norm = n * x.clamp(min=0) + n * (-x.abs()).exp().log1p() - (n + 1).lgamma()
        return value * x - ways - norm

    def entropy(self) -> Any:
        count = int(self.total_count.max())
        if not bool((self.total_count == count).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log = self.log_prob(self.enumerate_support(False))
        return -(log.exp() * log).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        import shim_torch

        count = int(self.total_count.max())
        if not bool((self.total_count == count).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = shim_torch.arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1, *[1] * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class Multinomial(Distribution):
    """How often each category comes up in ``total_count`` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        logits = self.logits.expand(_core.Size(batch_shape) + self.event_shape)
        return Multinomial(self.total_count, logits=logits, validate_args=False)

    @property
    def probs(self) -> Any:
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        return self._categorical.param_shape

    @property
    def support(self) -> Any:
        return constraints._Counts(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = _core.Size(sample_shape)
        drawn = self._categorical.sample(_core.Size((self.total_count,)) + shape).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(shape))
        return counts.scatter_add(-1, drawn, drawn.new_ones(drawn.shape)).type_as(self.probs)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = (
            self.logits.broadcast_to(value.shape),
            value.expand(_core.broadcast_shapes([value.shape, self.logits.shape])),
        )
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Any:
        n = self.probs.new_tensor(float(self.total_count))
        counts = Binomial(self.total_count, probs=self.probs, validate_args=False)
        values = counts.enumerate_support(expand=False)[1:]
        ways = (counts.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1).lgamma() + ways


class MixtureSameFamily(Distribution):
    """One of the components (the last batch dim), chosen by a Categorical, draws."""

    arg_constraints: dict[str, Any] = {}

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        n, have = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if n != have:
            raise ValueError(
                f"`mixture_distribution` component ({n}) does not equal `component_distribution.batch_shape[-1]` ({have})"
            )
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        self._num_component = n
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    def _weights(self) -> Any:
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * len(self._event_shape))

    @property
    def _at(self) -> int:
        return -1 - len(self._event_shape)

    @property
    def support(self) -> Any:
        return self.component_distribution.support

    @property
    def mean(self) -> Any:
        return (self._weights() * self.component_distribution.mean).sum(self._at)

    @property
    def variance(self) -> Any:
        inside = (self._weights() * self.component_distribution.variance).sum(self._at)
        away = (self.component_distribution.mean - self.mean.unsqueeze(self._at)).pow(2)
        return inside + (self._weights() * away).sum(self._at)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        each = self.component_distribution.log_prob(value.unsqueeze(self._at))
        return (each + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value: Any) -> Any:
        each = self.component_distribution.cdf(value.unsqueeze(self._at))
        return (each * self.mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            at = len(_core.Size(sample_shape)) + len(self._batch_shape)
            index = chosen.reshape(chosen.shape + (1,) * (len(self._event_shape) + 1))
            index = index.expand((*chosen.shape, 1, *self._event_shape))
            return drawn.gather(at, index).squeeze(at)
