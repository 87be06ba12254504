"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import lazy_property, member

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles from -pi to pi, around ``loc`` (of any number of turns); the more alike the larger ``concentration``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _parameters = ("loc", "concentration")
    loc: Any
    concentration: Any

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        shape = self._set(loc=loc, concentration=concentration)
        super().__init__(shape, torch.Size(), validate_args)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        k = self.concentration
        # log I0(k) = log(exp(-k) I0(k)) + k never overflows.
        norm = math.log(2 * math.pi) + torch.special.i0e(k).log() + k
        return k * torch.cos(self._checked(value) - self.loc) - norm

    @torch.no_grad()
    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws by rejection from a wrapped Cauchy distribution (Best and Fisher, 1979), in double precision."""
        shape = self._extended_shape(sample_shape)
        k = self.concentration.double().expand(shape)
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        # For small k the difference loses its digits: its series.
        r = torch.where(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))
        angle, todo = torch.zeros_like(k), torch.ones(shape, dtype=torch.bool, device=k.device)
        while todo.any():
            u1, u2, u3 = torch.rand((3, *shape), dtype=torch.float64, device=k.device)
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            accept = (c * (2 - c) - u2 > 0) | (
                (c / u2).log() + 1 - c >= 0
            )  # a later draw that fits too takes the place
            angle = torch.where(accept, (u3 - 0.5).sign() * f.clamp(-1, 1).acos(), angle)
            todo = todo & ~accept
        return ((angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    mean = mode = member("loc")  # the circular mean

    @lazy_property
    def variance(self) -> Any:  # type: ignore[override]
        """The circular variance."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
