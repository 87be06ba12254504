"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from shim_torch.distributions import constraints
from shim_torch.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of ``df`` squared standard normal draws."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Any:
        """The degrees of freedom: twice the gamma distribution's concentration."""
        return self.concentration * 2
