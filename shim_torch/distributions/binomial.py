"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import ProbsOrLogits
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import _log_beta
from shim_torch.nn.functional import logsigmoid

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits):
    """How many of ``total_count`` trials of probability ``probs`` succeed."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    total_count: Any
    _parameters = ("total_count", "probs", "logits")

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        shape = self._set_one(probs, logits, total_count=total_count)
        self.total_count = self.total_count.type_as(self._param)
        super().__init__(shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers from 0 to ``total_count``."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        """n p."""
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        """floor((n + 1) p), at most n."""
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) without gradients."""
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of ``value``: sample shape and batch shape."""
        self._checked(value)
        n, k, x = self.total_count, value, self.logits
        orders = -_log_beta(k + 1, n - k + 1) - (n + 1).log()  # the binomial coefficient
        return orders + k * logsigmoid(x) + (n - k) * logsigmoid(-x)

    def _mean_of(self, function: Callable[[Any], Any], asked_by: str) -> Any:
        """The mean of a function of the count."""
        counts = self._counts(asked_by)
        return (self.log_prob(counts).exp() * function(counts)).sum(0)

    def _counts(self, asked_by: str) -> Any:
        low, high = self.total_count.aminmax()
        if low != high:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{asked_by}`.")
        counts = torch.arange(1 + int(high), dtype=self._param.dtype, device=self._param.device)
        return self._values(counts, False)

    def entropy(self) -> Any:
        """The entropy in nats, a sum over all counts; all ``total_count`` must be equal."""
        return -self._mean_of(self.log_prob, "entropy")

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of the support along a new first dim; expanded over the batch unless ``expand`` is False."""
        return self._values(self._counts("enumerate_support"), expand)
