"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import ProbsOrLogits
from shim_torch.distributions import constraints
from shim_torch.distributions.gamma import Gamma
from shim_torch.distributions.utils import _log_beta, lazy_property
from shim_torch.nn.functional import logsigmoid

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """How many trials of probability ``probs`` succeed before ``total_count`` of them fail."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    total_count: Any
    _parameters = ("total_count", "probs", "logits", "_gamma")

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        shape = self._set_one(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(concentration=self.total_count, rate=torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) without gradients."""
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of ``value``: sample shape and batch shape."""
        self._checked(value)
        n, x = self.total_count, self.logits
        orders = -_log_beta(n, value + 1) - (n + value).log()
        orders = orders.masked_fill(n + value == 0.0, 0.0)  # nothing is drawn before no failure
        return orders + value * logsigmoid(x) + n * logsigmoid(-x)
