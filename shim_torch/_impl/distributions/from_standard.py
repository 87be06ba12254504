"""What distributions share whose draws are a standard draw taken through steps that parameters set."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.table.calls import torch
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.uniform import Uniform


class FromStandard(TransformedDistribution):
    """A subclass gives ``_standard``, the distribution that its draws start from, and ``_steps``, the transforms."""

    def _standard(self, like: Any, validate_args: bool | None) -> Any:
        """A distribution of the shape, dtype and device of ``like``: uniform draws from 0 to 1 unless a subclass has others."""
        return Uniform(torch.zeros_like(like), torch.ones_like(like), validate_args)

    def _steps(self) -> list[Any]:
        raise NotImplementedError

    def _build(self, validate_args: bool | None, **parameters: Any) -> None:
        """Keeps the parameters, broadcast to one shape, and does what ``__init__`` does."""
        self._set(**parameters)
        like = self.__dict__[next(iter(parameters))]
        super().__init__(self._standard(like, validate_args), self._steps(), validate_args)
