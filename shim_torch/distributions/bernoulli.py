"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import ProbsOrLogits
from shim_torch.distributions import constraints
from shim_torch.distributions.exp_family import ExponentialFamily
from shim_torch.distributions.utils import broadcast_all
from shim_torch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Bernoulli"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """1 with probability ``probs``, otherwise 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._set_one(probs, logits), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """p."""
        return self.probs

    @property
    def mode(self) -> Any:
        """1 where p > 1/2, 0 where p < 1/2, NaN at 1/2."""
        return (self.probs >= 0.5).to(self.probs).masked_fill(self.probs == 0.5, torch.nan)

    @property
    def variance(self) -> Any:
        """p (1 - p)."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) without gradients."""
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of ``value``: sample shape and batch shape."""
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        """0 and 1 along a new first dim; expanded over the batch unless ``expand`` is False."""
        return self._values(torch.arange(2, dtype=self._param.dtype, device=self._param.device), expand)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (torch.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return torch.log(1 + torch.exp(x))
