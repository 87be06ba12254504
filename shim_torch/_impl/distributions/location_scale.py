"""What distributions of a location and a scale share."""

from __future__ import annotations

from typing import Any

from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import member


class LocationScale(Distribution):
    """Symmetric around ``loc``, of width ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _parameters = ("loc", "scale")
    loc: Any
    scale: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(self._set(loc=loc, scale=scale), validate_args=validate_args)

    mean = mode = member("loc")
