"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import OfCategorical
from shim_torch.distributions import constraints
from shim_torch.distributions.binomial import Binomial
from shim_torch.distributions.categorical import Categorical

__all__ = ["Multinomial"]


def _log_factorial(count: Any) -> Any:
    return torch.lgamma(count + 1)


class Multinomial(OfCategorical):
    """How often each category is drawn in ``total_count`` draws."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int
    _parameters = ("_categorical", "_binomial")

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self._categorical, self.total_count = Categorical(probs, logits), total_count
        # How often one category is drawn.
        self._binomial = Binomial(total_count, self._categorical.probs, validate_args=False)
        super().__init__(*self._split_shape(), validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """The constraint that values satisfy, given the parameters."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        """n p."""
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        """n p (1 - p)."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Counts of each category (sample_shape + batch shape, categories)."""
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        counts = torch.zeros(self._extended_shape(sample_shape), dtype=torch.long, device=drawn.device)
        return counts.scatter(-1, drawn.movedim(0, -1), 1, reduce="add").to(self.probs.dtype)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        repeats = self._binomial._mean_of(_log_factorial, "entropy").sum(-1)
        return self.total_count * self._categorical.entropy() + repeats - math.lgamma(self.total_count + 1)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of ``value``: sample shape and batch shape."""
        count, logits = torch.broadcast_tensors(self._checked(value), self.logits)
        # A category that is never drawn costs nothing where it is not: 0 * log(0) would be NaN.
        chances = count * logits.masked_fill(logits.isneginf() & (count == 0), 0.0)
        return _log_factorial(count.sum(-1)) + (chances - _log_factorial(count)).sum(-1)
