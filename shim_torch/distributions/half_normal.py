"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.distributions.folded import Folded
from shim_torch.distributions.normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """The absolute value of a normal draw around 0."""

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return self.scale.pow(2) * (1 - 2 / math.pi)
