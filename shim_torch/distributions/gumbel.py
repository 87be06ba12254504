"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.from_standard import FromStandard
from shim_torch.distributions import constraints
from shim_torch.distributions.transforms import AffineTransform, ExpTransform
from shim_torch.distributions.uniform import Uniform
from shim_torch.distributions.utils import euler_constant

__all__ = ["Gumbel"]


class Gumbel(FromStandard):
    """The distribution of the largest of many draws: loc - scale * log(-log u) for uniform u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters = ("base_dist", "loc", "scale")
    loc: Any
    scale: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._build(validate_args, loc=loc, scale=scale)

    def _standard(self, like: Any, validate_args: bool | None) -> Any:
        info = torch.finfo(like.dtype)  # log(-log u) is finite between these
        low, high = (torch.full_like(like, bound) for bound in (info.tiny, 1 - info.eps))
        return Uniform(low, high, validate_args)

    def _steps(self) -> list[Any]:
        log = ExpTransform().inv
        return [log, AffineTransform(0, -1.0), log, AffineTransform(self.loc, -self.scale)]

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        y = (self.loc - self._checked(value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        return self.loc

    @property
    def stddev(self) -> Any:
        """The standard deviation, of the batch and event shape."""
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return self.scale.log() + (1 + euler_constant)
