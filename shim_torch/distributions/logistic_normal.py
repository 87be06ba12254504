"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from shim_torch.distributions import constraints
from shim_torch.distributions.normal import Normal
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.transforms import StickBreakingTransform
from shim_torch.distributions.utils import member

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Normal draws taken onto the simplex by stick breaking: one more probability than there are normals."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    loc, scale = member("base_dist.base_dist.loc"), member("base_dist.base_dist.scale")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)
