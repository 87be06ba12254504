"""Draws of one distribution taken through transforms."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.composed_transforms import log_det_along, more_dims
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.independent import Independent
from shim_torch.distributions.transforms import ComposeTransform, Transform
from shim_torch.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


def _listed(transforms: Any) -> list[Transform]:
    """One transform or a list of them as a list."""
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if all(isinstance(t, Transform) for t in transforms):
        return transforms
    raise ValueError("transforms must be a Transform or a list of Transforms")


class TransformedDistribution(Distribution):
    """y = t(x) for draws x of ``base_distribution`` and a transform t, or a list of them one after another."""

    arg_constraints: Any = {}
    _parameters: tuple[str, ...] = ("base_dist",)

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = _listed(transforms)
        whole = ComposeTransform(self.transforms)
        before = base_distribution.batch_shape + base_distribution.event_shape
        needed, own = whole.domain.event_dim, len(base_distribution.event_shape)
        if len(before) < needed:
            raise ValueError(f"base_distribution needs to have shape with size at least {needed}, but got {before}.")
        after = whole.forward_shape(before)
        grown = whole.inverse_shape(after)  # parameters of the transforms may have more batch dims
        if grown != before:
            base_distribution = base_distribution.expand(grown[: len(grown) - own])
        self.base_dist = base_distribution if own >= needed else Independent(base_distribution, needed - own)
        # Dims of an event that the transforms know nothing of stay dims of the event.
        batch_dims = len(after) - whole.codomain.event_dim - max(own - needed, 0)
        super().__init__(after[:batch_dims], after[batch_dims:], validate_args=validate_args)

    def _expanded(self, value: Any, shape: Any) -> Any:
        if value is not self.base_dist:
            return super()._expanded(value, shape)
        whole = shape + self.event_shape
        for t in reversed(self.transforms):
            whole = t.inverse_shape(whole)
        return value.expand(whole[: len(whole) - len(value.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The constraint that values satisfy, given the parameters."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether gradients flow through draws."""
        return self.base_dist.has_rsample

    def _through(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) without gradients."""
        with torch.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """That of the base at the value it was drawn as, less how much the transforms spread it."""
        backwards = accumulate(reversed(self.transforms), lambda y, step: step.inv(y), initial=self._checked(value))
        values = list(backwards)[::-1]
        event_dim = len(self.event_shape) - sum(map(more_dims, self.transforms))
        base = _sum_rightmost(self.base_dist.log_prob(values[0]), event_dim - len(self.base_dist.event_shape))
        return base - log_det_along(self.transforms, values, event_dim)

    def _monotonize_cdf(self, value: Any) -> Any:
        """1 - value where the transforms together fall instead of grow."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        """The value below which a draw falls with probability ``value``: the inverse of ``cdf``."""
        return self._through(self.base_dist.icdf(self._monotonize_cdf(value)))
