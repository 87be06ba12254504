"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import ProbsOrLogits
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import _open_uniform
from shim_torch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits):
    """How many trials of probability ``probs`` fail before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._set_one(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            invalid = self.probs.data[~(self.probs > 0)]
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) "
                f"of distribution {self!r} to be positive but found invalid values:\n{invalid}"
            )

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return torch.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) without gradients."""
        with torch.no_grad():
            u = _open_uniform(self.probs, self._extended_shape(sample_shape))
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the probability of ``value``: sample shape and batch shape."""
        value = self._checked(value)
        # Where success is certain, no failure costs nothing: 0 * log(0) would be NaN.
        certain = (self.probs == 1) & (value == 0)
        return self.probs.log() + value * torch.log1p(-torch.where(certain, 0.0, self.probs))

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
