"""``Distribution``: what all distributions have."""

from __future__ import annotations

from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.distributions import constraints

__all__ = ["Distribution", "ExponentialFamily", "Independent"]


class Distribution:
    """A batch of distributions over events: ``batch_shape`` and ``event_shape``."""

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: dict[str, Any] = {}
    _validate_args = True

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and samples are checked."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = _core.Size(batch_shape), _core.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            value = self.__dict__.get(name)
            if value is None or isinstance(constraint, constraints._Dependent):
                continue
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to "
                    f"satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    @property
    def batch_shape(self) -> Any:
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        return self._event_shape

    @property
    def support(self) -> Any:
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def variance(self) -> Any:
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def stddev(self) -> Any:
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws, without gradients: sample_shape + batch_shape + event_shape."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws through which gradients flow to the parameters."""
        raise NotImplementedError(f"torch.distributions.{type(self).__name__}.rsample: its draws have no gradient")

    def log_prob(self, value: Any) -> Any:
        """The log of the density or probability."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        raise NotImplementedError

    def perplexity(self) -> Any:
        """exp(entropy)."""
        return self.entropy().exp()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with parameters expanded to a batch shape."""
        shape = _core.Size(batch_shape)
        values = {
            k: self.__dict__[k].expand(shape + self._tail(k))
            for k in self.arg_constraints
            if self.__dict__.get(k) is not None
        }
        return type(self)(**values, validate_args=False)

    def _tail(self, name: str) -> Any:
        return _core.Size(self.__dict__[name].shape[len(self._batch_shape) :])

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return _core.Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        if not self._validate_args:
            return
        if not isinstance(value, _core.TensorBase):
            raise ValueError("The value argument to log_prob must be a Tensor")
        if value.dim() < len(self._event_shape) or tuple(value.shape[value.dim() - len(self._event_shape) :]) != tuple(
            self._event_shape
        ):
            raise ValueError(
                f"The right-most size of value must match event_shape: {list(value.shape)} vs {list(self._event_shape)}."
            )
        for i, j in zip(reversed(value.shape), reversed(self._batch_shape + self._event_shape), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {self._batch_shape + self._event_shape}."
                )
        if not self.support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        shown = [
            f"{k}: {v if v.numel() == 1 else v.size()}"
            for k in self.arg_constraints
            if (v := self.__dict__.get(k)) is not None
        ]
        return f"{self.__class__.__name__}({', '.join(shown)})"


class ExponentialFamily(Distribution):
    """Distributions of the exponential family."""


class Independent(Distribution):
    """Takes the last batch dims of a distribution as part of the event."""

    def __init__(
        self, base_distribution: Any, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:
        return self.base_dist.support

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def _sum(self, value: Any) -> Any:
        dims = tuple(range(-self.reinterpreted_batch_ndims, 0))
        return value.sum(dims) if dims else value

    def log_prob(self, value: Any) -> Any:
        return self._sum(self.base_dist.log_prob(value))

    def entropy(self) -> Any:
        return self._sum(self.base_dist.entropy())

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
