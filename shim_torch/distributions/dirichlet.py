"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.autograd import Function
from shim_torch.autograd.function import once_differentiable
from shim_torch.distributions import constraints
from shim_torch.distributions.exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x: Any, concentration: Any, grad_output: Any) -> Any:
    """How the draw ``x`` moves with ``concentration``, staying on the simplex."""
    total = concentration.sum(-1, True).expand_as(concentration)
    slope = torch._dirichlet_grad(x, concentration, total)
    return slope * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Any:
        x = torch._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Any) -> Any:
        x, concentration = ctx.saved_tensors
        return _Dirichlet_backward(x, concentration, grad_output)


class Dirichlet(ExponentialFamily):
    """Probabilities of as many categories as ``concentration``'s last dim is long."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _parameters = ("concentration",)

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        powers = torch.xlogy(self.concentration - 1.0, self._checked(value)).sum(-1)
        return powers - self._log_normalizer(self.concentration)

    def _mean_log(self) -> Any:
        """The means of the logs of the probabilities."""
        return self.concentration.digamma() - self.concentration.sum(-1, keepdim=True).digamma()

    @property
    def mean(self) -> Any:
        """The concentrations divided by their sum."""
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        """Where the density is highest: in the first of the corners if no concentration reaches 1."""
        a = self.concentration
        peaked = a.clamp(min=1) - 1
        mode = peaked / peaked.sum(-1, keepdim=True)  # NaN where no concentration is above 1
        corner = torch.zeros_like(a)
        corner[..., 0] = 1
        return torch.where((a < 1).all(-1, keepdim=True), corner, mode)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        expected = (self.concentration - 1.0) * self._mean_log()
        return self._log_normalizer(self.concentration) - expected.sum(-1)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:  # type: ignore[override]
        return x.lgamma().sum(-1) - torch.lgamma(x.sum(-1))
