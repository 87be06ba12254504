"""The continuous Bernoulli distribution."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions.probs_or_logits import ProbsOrLogits
from shim_torch.distributions import constraints
from shim_torch.distributions.exp_family import ExponentialFamily
from shim_torch.distributions.utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs
from shim_torch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Values between 0 and 1 of density ~ probs**x * (1 - probs)**(1 - x) (Loaiza-Ganem and Cunningham, 2019).

    With t = logit(probs) that is exp(t x) * t / (exp(t) - 1): an exponential distribution cut off at 1. Near t = 0 these
    forms lose all digits; between ``lims`` of probs a polynomial in the distance to 0.5 takes their place.
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
        shape, self._lims = self._set_one(probs, logits), lims
        if self._given == "probs":
            # PyTorch looks at them here even for ``validate_args=False``: clamped ones would pass any check.
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        super().__init__(shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities; computed from the logits where those were given."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _exact_or_near(self, exact: Callable[[Any], Any], near: Any) -> Any:
        """A function of t, and what stands for it between ``lims``; neither's gradient is disturbed by the other."""
        low, high = self._lims
        inside = (low < self.probs) & (self.probs <= high)
        return torch.where(inside, near, exact(torch.logit(self.probs.masked_fill(inside, low))))

    def _polynomial(self, *coefficients: float) -> Any:
        """Of even powers of the distance of probs to 0.5, the lowest first."""
        square = (self.probs - 0.5).square()
        return functools.reduce(lambda total, c: total * square + c, reversed(coefficients))

    def _cont_bern_log_norm(self) -> Any:
        """log(t / tanh(t / 2)): the density's constant beside probs and 1 - probs."""
        near = self._polynomial(math.log(2.0), 4 / 3, 104 / 45)
        return self._exact_or_near(lambda t: torch.log(t / torch.tanh(t / 2)), near)

    @property
    def mean(self) -> Any:
        """The mean; near p = 1/2 by its Taylor polynomial."""
        near = 0.5 + (self.probs - 0.5) * self._polynomial(1 / 3, 16 / 45)
        return self._exact_or_near(lambda t: t.reciprocal().neg() - torch.expm1(-t).reciprocal(), near)

    @property
    def variance(self) -> Any:
        """The variance; near p = 1/2 by its Taylor polynomial."""
        near = self._polynomial(1 / 12, -1 / 15, 128 / 945)
        return self._exact_or_near(lambda t: t.pow(-2) - (2 * torch.sinh(t / 2)).pow(-2), near)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        logits, value = broadcast_all(self.logits, self._checked(value))
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Any:
        """The probability of values up to ``value``."""
        inside = self._checked(value).clamp(0, 1)
        return self._exact_or_near(lambda t: torch.expm1(t * inside) / torch.expm1(t), inside)

    def icdf(self, value: Any) -> Any:
        """The value below which a draw falls with probability ``value``: the inverse of ``cdf``."""
        return self._exact_or_near(lambda t: torch.log1p(value * torch.expm1(t)) / t, value)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        own = self.mean * torch.logit(self.probs) + torch.log1p(-self.probs)
        return -own - self._cont_bern_log_norm()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        """log((exp(x) - 1) / x); for natural parameters as near to 0 as ``lims`` to 0.5 its series."""
        near_zero = (self._lims[0] - 0.5 < x) & (x <= self._lims[1] - 0.5)
        away = x.masked_fill(near_zero, 1.0)
        series = x / 2 + x.square() / 24 - x.square().square() / 2880
        return torch.where(near_zero, series, torch.log(torch.expm1(away) / away))
