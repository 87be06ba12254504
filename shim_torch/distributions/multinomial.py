"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions._probs_or_logits import OfCategorical
from shim_torch.distributions.binomial import Binomial
from shim_torch.distributions.categorical import Categorical
from shim_torch.distributions.utils import broadcast_all

__all__ = ["Multinomial"]


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
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        shape = self._categorical.param_shape
        self._binomial = Binomial(total_count=total_count, probs=self.probs, validate_args=False)
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        sample_shape = torch.Size(sample_shape)
        drawn = self._categorical.sample(torch.Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Any:
        n = torch.tensor(self.total_count)
        values = self._binomial.enumerate_support(expand=False)[1:]
        weights = torch.exp(self._binomial.log_prob(values))
        ways = (weights * torch.lgamma(values + 1)).sum([0, -1])
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + ways

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        ways = torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1)
        logits = logits.masked_fill((value == 0) & (logits == -torch.inf), 0)
        return ways + (logits * value).sum(-1)

__getattr__ = _asked_of(__name__)
