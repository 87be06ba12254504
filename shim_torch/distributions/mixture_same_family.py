"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.categorical import Categorical
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import _broadcastable, member

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """One of the components (the last batch dim), chosen by a ``Categorical``, draws."""

    arg_constraints: Any = {}
    has_rsample = False
    _parameters = ("_mixture_distribution", "_component_distribution")
    mixture_distribution = member("_mixture_distribution")
    component_distribution = member("_component_distribution")

    def __init__(
        self, mixture_distribution: Any, component_distribution: Any, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        chosen, components = mixture_distribution.batch_shape, component_distribution.batch_shape
        if not _broadcastable(chosen, components[:-1]):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({chosen}) is not compatible with "
                f"`component_distribution.batch_shape`({components[:-1]})"
            )
        weights, count = mixture_distribution.logits.shape[-1], components[-1]
        if weights != count:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({count})"
            )
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component, self._event_ndims = count, len(component_distribution.event_shape)
        super().__init__(components[:-1], component_distribution.event_shape, validate_args)

    @constraints.dependent_property
    def support(self) -> Any:
        """The constraint that values satisfy, given the parameters."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    def _average(self, each: Any) -> Any:
        """The mean over components, by their probabilities."""
        weights = self._mixture_distribution.probs
        weights = weights.reshape(weights.shape + (1,) * self._event_ndims)
        return torch.sum(weights * each, dim=-1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return self._average(self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        """The mean of the variances and the variance of the means (the law of total variance)."""
        away = self._component_distribution.mean - self._pad(self.mean)
        return self._average(self._component_distribution.variance) + self._average(away.pow(2.0))

    def cdf(self, x: Any) -> Any:
        """The probability of values up to ``value``."""
        each = self._component_distribution.cdf(self._pad(x))
        return torch.sum(each * self._mixture_distribution.probs, dim=-1)

    def log_prob(self, x: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        each = self._component_distribution.log_prob(self._pad(self._checked(x)))
        return torch.logsumexp(each + torch.log_softmax(self._mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) without gradients."""
        shape = torch.Size(sample_shape)
        with torch.no_grad():
            chosen = self._mixture_distribution.expand(self.batch_shape).sample(shape)
            drawn = self._component_distribution.sample(shape)
        at = chosen.dim()  # where the components are
        index = chosen[(...,) + (None,) * (self._event_ndims + 1)]
        return drawn.take_along_dim(index, at).squeeze(at)

    def _pad(self, x: Any) -> Any:
        """A value with a dim of length one where the components are."""
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
