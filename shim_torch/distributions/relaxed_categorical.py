"""Categorical draws made differentiable (Maddison et al., 2017; Jang et al., 2017)."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import OfCategorical
from shim_torch.distributions import constraints
from shim_torch.distributions.categorical import Categorical
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import ExpTransform
from shim_torch.distributions.utils import _clipped_uniform, member

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical):
    """The log of a ``RelaxedOneHotCategorical`` draw."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # the part of it whose exp adds up to one
    has_rsample = True

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(*self._split_shape(), validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Gumbel noise added to the logits."""
        noise = _clipped_uniform(self.logits, self._extended_shape(sample_shape)).log().neg().log()
        return ((self.logits - noise) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        logits, value = torch.broadcast_tensors(self.logits, self._checked(value))
        # The logarithms of t^(K - 1) Gamma(K) and of the softmax of what is left of the logits.
        others = self._categorical._num_events - 1
        left = torch.log_softmax(logits - self.temperature * value, -1)
        return left.sum(-1) + others * self.temperature.log() + math.lgamma(others + 1)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Points of the simplex near a one-hot draw; the nearer the lower ``temperature``."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    temperature = member("base_dist.temperature")
    logits, probs = member("base_dist.logits"), member("base_dist.probs")

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
