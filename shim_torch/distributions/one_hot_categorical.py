"""Categorical draws as vectors with a single one."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import OfCategorical
from shim_torch.distributions import constraints
from shim_torch.distributions.categorical import Categorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategorical):
    """A vector whose one stands where a ``Categorical`` draws it."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(*self._split_shape(), validate_args)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return self._categorical.probs

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return self._one_hot(self._categorical.mode).to(self._categorical.probs)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return self._categorical.probs * (1 - self._categorical.probs)

    def _one_hot(self, index: Any) -> Any:
        return torch.nn.functional.one_hot(index, self._categorical._num_events)

    def sample(self, sample_shape: Any = ()) -> Any:
        """One-hot vectors (sample_shape + batch shape, categories) of the probabilities' dtype."""
        return self._one_hot(self._categorical.sample(sample_shape)).to(self._categorical.probs)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of ``value``: sample shape and batch shape."""
        return self._categorical.log_prob(self._checked(value).argmax(-1))

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of the support along a new first dim; expanded over the batch unless ``expand`` is False."""
        return self._one_hot(self._categorical.enumerate_support(expand)).to(self._param.dtype)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A one-hot vector whose gradient is that of the probabilities (Bengio et al., 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Any:
        """One-hot draws whose gradient is that of the probabilities (straight-through estimator)."""
        probs = self._categorical.probs  # asked for first, with gradients
        return self.sample(sample_shape) + (probs - probs.detach())
