"""The Pareto distribution."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.distributions.from_standard import FromStandard
from shim_torch.distributions import constraints
from shim_torch.distributions.exponential import Exponential
from shim_torch.distributions.transforms import AffineTransform, ExpTransform

__all__ = ["Pareto"]


class Pareto(FromStandard):
    """Pareto's distribution of type 1: values from ``scale`` on, the fewer the larger ``alpha``."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _parameters = ("base_dist", "scale", "alpha")
    scale: Any
    alpha: Any

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self._build(validate_args, scale=scale, alpha=alpha)

    def _standard(self, like: Any, validate_args: bool | None) -> Any:
        return Exponential(self.alpha, validate_args)

    def _steps(self) -> list[Any]:
        return [ExpTransform(), AffineTransform(0, self.scale)]

    @property
    def mean(self) -> Any:
        """alpha scale / (alpha - 1); infinite for alpha up to 1."""
        a = self.alpha.clamp(min=1)  # infinite up to 1
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        """``scale``, the least value."""
        return self.scale

    @property
    def variance(self) -> Any:
        """The variance; infinite for alpha up to 2."""
        a = self.alpha.clamp(min=2)  # infinite up to 2
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        """Values of at least ``scale``."""
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
