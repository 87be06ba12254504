"""Constraints made of others: over more dims, of a mixture, of slices side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.distributions.constraint import Constraint
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch

HOME = "torch.distributions.constraints"  # where PyTorch has them, and pickles look


class _Wrapped(Constraint):
    """A constraint made of another one, ``base_constraint``."""

    base_constraint: Any

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim


class _IndependentConstraint(_Wrapped):
    """Holds where the base constraint holds over all of the last dims."""

    __module__ = HOME

    def __init__(self, base_constraint: Any, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        super().__init__()

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        each, dims = self.base_constraint.check(value), self.reinterpreted_batch_ndims
        if each.dim() < dims:
            raise ValueError(f"Expected value.dim() >= {self.base_constraint.event_dim + dims} but got {value.dim()}")
        return each.all(tuple(range(-dims, 0))) if dims else each

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Wrapped):
    """The support of a mixture: a value is held against every component's."""

    def __init__(self, base_constraint: Any) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint
        super().__init__()

    def check(self, value: Any) -> Any:
        """Whether each value satisfies the constraint of every component."""
        # The component dim is the last batch dim of what the base constraint answers.
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


def _checked(constraint: Any, value: Any) -> Any:
    return constraint.check(value)


class _Several(Constraint):
    """Constraints of the slices of a value along ``dim``."""

    def __init__(self, cseq: Sequence[Any], dim: int = 0) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Any) -> Any:
        if self.dim not in range(-value.dim(), value.dim()):
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")
        return self._join(list(map(_checked, self.cseq, self._slices(value))), self.dim)

    def _slices(self, value: Any) -> Any:
        raise NotImplementedError

    def _join(self, parts: list[Any], dim: int) -> Any:
        raise NotImplementedError


class _Cat(_Several):
    __module__ = HOME

    def __init__(self, cseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def _slices(self, value: Any) -> Any:
        return value.narrow(self.dim, 0, sum(self.lengths)).split(self.lengths, self.dim)

    _join: Any = staticmethod(torch.cat)


class _Stack(_Several):
    __module__ = HOME

    @property
    def event_dim(self) -> int:
        """One more where the slices lie within an event."""
        dims = super().event_dim
        return dims + (self.dim + dims < 0)

    def _slices(self, value: Any) -> Any:
        return value.unbind(self.dim)

    _join: Any = staticmethod(torch.stack)


naming.present(globals(), HOME)
