"""Draws of one distribution taken through transforms."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.independent import Independent
from shim_torch.distributions.transforms import ComposeTransform, Transform
from shim_torch.distributions.utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """y = t(x) for draws x of ``base_distribution`` and a transform t, or a list of them one after another."""

    arg_constraints: Any = {}
    _parameters: tuple[str, ...] = ("base_dist",)

    def __init__(self, base_distribution: Any, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")

        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event = len(base_distribution.event_shape)
        transform = ComposeTransform(self.transforms)
        if len(base_shape) < transform.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {transform.domain.event_dim}, "
                f"but got {base_shape}."
            )
        shape = transform.forward_shape(base_shape)
        expanded = transform.inverse_shape(shape)
        if base_shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - base_event])
        more = transform.domain.event_dim - base_event
        if more > 0:
            base_distribution = Independent(base_distribution, more)
        self.base_dist = base_distribution

        # A transform may change how many of the dims belong to one event.
        change = transform.codomain.event_dim - transform.domain.event_dim
        cut = len(shape) - max(transform.codomain.event_dim, base_event + change)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _expanded(self, value: Any, shape: Any) -> Any:
        if value is not self.base_dist:
            return super()._expanded(value, shape)
        whole = shape + self.event_shape
        for t in reversed(self.transforms):
            whole = t.inverse_shape(whole)
        return value.expand(whole[: len(whole) - len(value.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    def _through(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        y = self._checked(value)
        event_dim, found = len(self.event_shape), 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            change = transform.log_abs_det_jacobian(x, y)
            found = found - _sum_rightmost(change, event_dim - transform.domain.event_dim)
            y = x
        return found + _sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Any) -> Any:
        """1 - value where the transforms together fall instead of grow."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._through(self.base_dist.icdf(self._monotonize_cdf(value)))

__getattr__ = _asked_of(__name__)
