"""``ExponentialFamily``: distributions whose log density is linear in natural parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import shim_torch as torch
from shim_torch.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """p(x) = exp(<t(x), theta> - F(theta) + k(x)): natural parameters theta, log normaliser F, carrier measure k."""

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _tangent(self, at: Any, total: Callable[[Any], Any]) -> Any:
        """The tangent plane that touches F at the distribution's own parameters: its height at the parameters ``at``.

        The slopes are found by automatic differentiation. ``total`` adds up a product over one distribution.
        """
        own = [p.detach().requires_grad_() for p in self._natural_params]
        height = self._log_normalizer(*own)
        slopes = torch.autograd.grad(height.sum(), own, create_graph=True)
        for there, here, slope in zip(at, own, slopes, strict=True):
            height = height + total((there - here) * slope)
        return height

    def entropy(self) -> Any:
        """F(theta) - <theta, F'(theta)> - E[k]: where F's tangent plane meets the origin, less the carrier's mean."""
        origin = [0.0] * len(self._natural_params)
        # Parameters may be matrices, vectors or numbers of one event.
        height = self._tangent(origin, lambda product: product.reshape((*self._batch_shape, -1)).sum(-1))
        return height - self._mean_carrier_measure
