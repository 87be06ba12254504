"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.folded import Folded
from shim_torch.distributions.cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """The absolute value of a Cauchy draw around 0."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return self.base_dist.variance
