"""Categorical draws made differentiable (Maddison et al., 2017; Jang et al., 2017)."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions._probs_or_logits import OfCategorical
from shim_torch.distributions.categorical import Categorical
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import ExpTransform
from shim_torch.distributions.utils import broadcast_all, clamp_probs, member

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
        shape = self._categorical.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        uniform = clamp_probs(torch.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbel = -((-(uniform.log())).log())
        return ((self.logits + gumbel) / self.temperature).log_softmax(dim=-1)

    def log_prob(self, value: Any) -> Any:
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, self._checked(value))
        norm = math.lgamma(count) + self.temperature.log() * (count - 1)
        return (logits - value.mul(self.temperature)).log_softmax(dim=-1).sum(-1) + norm


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

__getattr__ = _asked_of(__name__)
