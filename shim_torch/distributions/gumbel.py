"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import AffineTransform, ExpTransform
from shim_torch.distributions.uniform import Uniform
from shim_torch.distributions.utils import euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """The distribution of the largest of many draws: loc - scale * log(-log u) for uniform u."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters = ("base_dist", "loc", "scale")
    loc: Any
    scale: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._set(loc=loc, scale=scale)
        info = torch.finfo(self.loc.dtype)
        base = Uniform(
            torch.full_like(self.loc, info.tiny), torch.full_like(self.loc, 1 - info.eps), validate_args=validate_args
        )
        steps = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-torch.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(base, steps, validate_args=validate_args)

    def log_prob(self, value: Any) -> Any:
        y = (self.loc - self._checked(value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)

__getattr__ = _asked_of(__name__)
