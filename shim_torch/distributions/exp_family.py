"""``ExponentialFamily``: distributions whose log density is linear in natural parameters."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
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

    def entropy(self) -> Any:
        """F(theta) - <theta, F'(theta)> - E[k], the gradient F' found by automatic differentiation."""
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        found = normalizer - self._mean_carrier_measure
        for p, slope in zip(natural, torch.autograd.grad(normalizer.sum(), natural, create_graph=True), strict=True):
            # One product for each distribution: parameters may be matrices, vectors or numbers of one event.
            found = found - (p * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return found

__getattr__ = _asked_of(__name__)
