"""Batch dims taken as part of the event."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import _sum_rightmost, member

__all__ = ["Independent"]
D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """Takes the last batch dims of a distribution as part of the event: log_prob adds up over them."""

    arg_constraints: Any = {}
    base_dist: D
    _parameters = ("base_dist",)

    def __init__(self, base_distribution: D, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        batch, ndims = base_distribution.batch_shape, reinterpreted_batch_ndims
        if ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {ndims} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, ndims
        cut = len(batch) - ndims
        super().__init__(batch[:cut], batch[cut:] + base_distribution.event_shape, validate_args=validate_args)

    has_rsample = member("base_dist.has_rsample")
    mean, mode, variance = member("base_dist.mean"), member("base_dist.mode"), member("base_dist.variance")

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        """Whether the support can be listed: as of the base distribution, without reinterpreted dims."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """The constraint that values satisfy, given the parameters."""
        found = self.base_dist.support
        return (
            constraints.independent(found, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else found
        )

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) without gradients."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of the support along a new first dim; expanded over the batch unless ``expand`` is False."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
