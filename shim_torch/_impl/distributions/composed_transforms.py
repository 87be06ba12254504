"""Transforms made of others, or of the same values in another shape."""

from __future__ import annotations

import functools
import operator
import weakref
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from shim_torch._impl.distributions.transform import Reshaping, Transform
from shim_torch._impl.native import _core
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import _sum_rightmost, lazy_property


def _with_event_dim(constraint: Any, event_dim: int) -> Any:
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


def more_dims(transform: Transform) -> int:
    """How many dims more an event has after a transform than before it."""
    return transform.codomain.event_dim - transform.domain.event_dim


def log_det_along(parts: Sequence[Transform], values: Sequence[Any], event_dim: int) -> Any:
    """What ``parts`` add up to, one after another, as ``log_abs_det_jacobian``.

    values: what goes into the first, what they pass on, what comes out; event_dim: that of an event of the first value.
    """
    total: Any = 0
    for part, (x, y) in zip(parts, pairwise(values), strict=True):
        total = total + _sum_rightmost(part.log_abs_det_jacobian(x, y), event_dim - part.domain.event_dim)
        event_dim += more_dims(part)
    return total


class ComposeTransform(Transform):
    """Several transforms, one after another."""

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts
        super().__init__(cache_size=cache_size)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.parts,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def _event_dims(self) -> list[int]:
        """How many dims an event has before each part and after the last one: the fewest that do for all of them."""
        offsets = list(accumulate((more_dims(part) for part in self.parts), initial=0))
        first = max(part.domain.event_dim - offset for part, offset in zip(self.parts, offsets, strict=False))
        return [first + offset for offset in offsets]

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return _with_event_dim(self.parts[0].domain, self._event_dims()[0]) if self.parts else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The constraint that outputs satisfy."""
        return _with_event_dim(self.parts[-1].codomain, self._event_dims()[-1]) if self.parts else constraints.real

    @lazy_property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether each output has one input."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:  # type: ignore[override]
        """1 where the transform increases, -1 where it decreases; a tensor where that differs by element."""
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    def _new_inverse(self) -> Transform:
        inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
        inverse._inv = weakref.ref(self)
        return inverse

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        if not self.parts:
            return torch.zeros_like(x)
        between = accumulate(self.parts[:-1], lambda value, part: part(value), initial=x)
        return log_det_along(self.parts, [*between, y], self._event_dims()[0])

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for an input of ``shape``."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for an output of ``shape``."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(\n    " + ",\n    ".join(p.__repr__() for p in self.parts) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform whose jacobian adds up over more dims."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _arguments(self) -> tuple[Any, ...]:
        return (self.base_transform, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        """The constraint that outputs satisfy."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        """Whether each output has one input."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """1 where the transform increases, -1 where it decreases; a tensor where that differs by element."""
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for an input of ``shape``."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for an output of ``shape``."""
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Reshaping, Transform):
    """The last dims, of ``in_shape``, in another shape."""

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = _core.Size(in_shape), _core.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.in_shape, self.out_shape)

    @constraints.dependent_property
    def domain(self) -> Any:
        """The constraint that inputs satisfy."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        """The constraint that outputs satisfy."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def _shape_after(self, *event: int) -> Any:
        return self._exchanged(event, self.in_shape, self.out_shape)

    def _shape_before(self, *event: int) -> Any:
        return self._exchanged(event, self.out_shape, self.in_shape)

    def _exchanged(self, event: Any, expected: Any, other: Any) -> Any:
        if event != expected:
            raise ValueError(f"Shape mismatch: expected {_core.Size(event)} but got {expected}")
        return other


naming.present(globals(), "torch.distributions.transforms")
