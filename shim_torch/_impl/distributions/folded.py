"""What the absolute value of a distribution symmetric around 0 has."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.table.calls import torch
from shim_torch._impl.tensor.from_data import as_tensor
from shim_torch.distributions import constraints
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import AbsTransform
from shim_torch.distributions.utils import member


class Folded(TransformedDistribution):
    """|x| for draws x of a distribution symmetric around 0: twice its density at positive values."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    scale = member("base_dist.scale")

    def __init__(self, base_distribution: Any, validate_args: bool | None = None) -> None:
        super().__init__(base_distribution, AbsTransform(), validate_args=validate_args)

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return torch.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        value = self._checked(value)
        found = self.base_dist.log_prob(value) + math.log(2)
        return torch.where(as_tensor(value >= 0, device=found.device), found, -math.inf)

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        return 2 * self.base_dist.cdf(self._checked(value)) - 1

    def icdf(self, prob: Any) -> Any:
        """The value below which a draw falls with probability ``value``: the inverse of ``cdf``."""
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return self.base_dist.entropy() - math.log(2)
