"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions._probs_or_logits import ProbsOrLogits
from shim_torch.distributions.exp_family import ExponentialFamily
from shim_torch.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from shim_torch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Values between 0 and 1 of density ~ probs**x * (1 - probs)**(1 - x) (Loaiza-Ganem and Cunningham, 2019).

    The closed forms lose all digits near probs = 0.5; between ``lims`` Taylor's series around 0.5 take their place.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        shape = self._set_one(probs, logits)
        if probs is not None:
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Any:
        """probs, or the lower limit where they are too near 0.5 to divide by what is left."""
        return torch.where(self._outside_unstable_region(), self.probs, self._lims[0] * torch.ones_like(self.probs))

    def _either(self, exact: Any, series: Any) -> Any:
        return torch.where(self._outside_unstable_region(), exact, series)

    def _log_odds(self, p: Any) -> Any:
        """log((1 - p) / p) = 2 * atanh(1 - 2p)."""
        return torch.log1p(-p) - torch.log(p)

    def _cont_bern_log_norm(self) -> Any:
        p = self._cut_probs()
        x = (self.probs - 0.5).pow(2)
        exact = torch.log(torch.abs(self._log_odds(p))) - torch.log(torch.abs(1 - 2.0 * p))
        return self._either(exact, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Any:
        p, x = self._cut_probs(), self.probs - 0.5
        exact = p / (2.0 * p - 1.0) + 1.0 / self._log_odds(p)
        return self._either(exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def stddev(self) -> Any:
        return torch.sqrt(self.variance)

    @property
    def variance(self) -> Any:
        p, x = self._cut_probs(), (self.probs - 0.5).pow(2)
        exact = p * (p - 1.0) / torch.pow(1.0 - 2.0 * p, 2) + 1.0 / torch.pow(self._log_odds(p), 2)
        return self._either(exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Any = ()) -> Any:
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Any:
        value, p = self._checked(value), self._cut_probs()
        exact = (torch.pow(p, value) * torch.pow(1.0 - p, 1.0 - value) + p - 1.0) / (2.0 * p - 1.0)
        inside = self._either(exact, value)
        inside = torch.where(torch.le(value, 0.0), torch.zeros_like(inside), inside)
        return torch.where(torch.ge(value, 1.0), torch.ones_like(inside), inside)

    def icdf(self, value: Any) -> Any:
        p = self._cut_probs()
        exact = (torch.log1p(-p + value * (2.0 * p - 1.0)) - torch.log1p(-p)) / -self._log_odds(p)
        return self._either(exact, value)

    def entropy(self) -> Any:
        log_odds = self._log_odds(self.probs)
        return self.mean * log_odds - self._cont_bern_log_norm() - torch.log1p(-self.probs)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        """log((exp(x) - 1) / x), for natural parameters near 0 its series."""
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = (x <= low) | (x > high)
        cut = torch.where(outside, x, low * torch.ones_like(x))
        exact = torch.log(torch.abs(torch.special.expm1(cut))) - torch.log(torch.abs(cut))
        return torch.where(outside, exact, 0.5 * x + torch.pow(x, 2) / 24.0 - torch.pow(x, 4) / 2880.0)

__getattr__ = _asked_of(__name__)
