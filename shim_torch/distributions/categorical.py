"""The categorical distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import ProbsOrLogits, one_of
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


SUMMING_TO_ONE: dict[str, Callable[[Any], Any]] = {
    "probs": lambda weights: weights / weights.sum(-1, keepdim=True),
    "logits": lambda scores: scores - scores.logsumexp(-1, keepdim=True),
}


class Categorical(ProbsOrLogits):
    """0 .. K-1 with the probabilities of the last dim, which are made to add up to one."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._given, weights = one_of(probs, logits)
        if not weights.dim():
            raise ValueError(f"`{self._given}` parameter must be at least one-dimensional.")
        setattr(self, self._given, SUMMING_TO_ONE[self._given](weights))
        *batch, self._num_events = weights.size()
        super().__init__(batch, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        """The integers from 0 to the number of categories less 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Any:
        """Log-odds, or unnormalised log-probabilities; computed from the probabilities where those were given."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities; computed from the logits where those were given."""
        return logits_to_probs(self.logits)

    @property
    def mean(self) -> Any:
        """NaN: categories are no numbers."""
        return torch.full(self._extended_shape(), torch.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Any:
        """The most likely category."""
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        """NaN: categories are no numbers."""
        return self.mean

    def sample(self, sample_shape: Any = ()) -> Any:
        """Categories (sample_shape + batch shape), int64."""
        sample_shape = torch.Size(sample_shape)
        probs = self.probs.reshape(-1, self._num_events)
        drawn = torch.multinomial(probs, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of ``value``: sample shape and batch shape."""
        value = self._checked(value).long().unsqueeze(-1)
        value, logits = torch.broadcast_tensors(value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        lowest = torch.finfo(self.logits.dtype).min
        return -(torch.clamp(self.logits, min=lowest) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of the support along a new first dim; expanded over the batch unless ``expand`` is False."""
        return self._values(torch.arange(self._num_events, dtype=torch.long, device=self._param.device), expand)
