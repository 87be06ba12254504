"""Bernoulli draws made differentiable (Maddison et al., 2017)."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributions.probs_or_logits import ProbsOrLogits
from shim_torch.distributions import constraints
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import SigmoidTransform
from shim_torch.distributions.utils import _clipped_uniform, broadcast_all, member, probs_to_logits

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits):
    """The logit of a ``RelaxedBernoulli`` draw."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(self._set_one(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Logistic noise around the logits."""
        noise = _clipped_uniform(self.probs, self._extended_shape(sample_shape))
        return (probs_to_logits(noise, is_binary=True) + probs_to_logits(self.probs, is_binary=True)) / self.temperature

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        logits, value = broadcast_all(self.logits, self._checked(value))
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Values between 0 and 1 near a Bernoulli draw; the nearer the lower ``temperature``."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    temperature = member("base_dist.temperature")
    logits, probs = member("base_dist.logits"), member("base_dist.probs")

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
