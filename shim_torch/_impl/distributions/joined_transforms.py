"""Different transforms side by side: one for each slice along a dim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shim_torch._impl.distributions.transform import Transform
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import _sum_rightmost, lazy_property


class _Several(Transform):
    """One transform for each slice along ``dim``."""

    transforms: list[Any]
    dim: int

    def _set(self, tseq: Sequence[Any], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        Transform.__init__(self, cache_size=cache_size)
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def _parts(self, x: Any) -> Any:
        raise NotImplementedError

    def _join(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _call(self, x: Any) -> Any:
        return self._join([t(v) for t, v in zip(self.transforms, self._parts(x), strict=True)])

    def _inverse(self, y: Any) -> Any:
        return self._join([t.inv(v) for t, v in zip(self.transforms, self._parts(y), strict=True)])


class CatTransform(_Several):
    """Slices of ``lengths`` along ``dim``, each through its own transform (as ``torch.cat`` joins them)."""

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        self._set(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    def _arguments(self) -> tuple[Any, ...]:
        return (self.transforms, self.dim, self.lengths)

    @lazy_property
    def event_dim(self) -> int:  # type: ignore[override]
        """The most event dims that one of the transforms has."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size along ``dim`` that inputs must have: the sum of ``lengths``."""
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Each slice's own domain."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Each slice's own codomain."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _parts(self, x: Any) -> Any:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        if x.size(self.dim) != self.length:
            raise AssertionError(f"x.size({self.dim}) = {x.size(self.dim)} must equal length {self.length}")
        return x.split(self.lengths, self.dim)

    def _join(self, parts: list[Any]) -> Any:
        return torch.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        changes = []
        for t, before, after in zip(self.transforms, self._parts(x), self._parts(y), strict=True):
            change = t.log_abs_det_jacobian(before, after)
            changes.append(_sum_rightmost(change, self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return torch.cat(changes, dim=dim) if dim < 0 else sum(changes)


class StackTransform(_Several):
    """Each slice along ``dim`` through its own transform (as ``torch.stack`` joins them)."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        self._set(tseq, dim, cache_size)

    def _arguments(self) -> tuple[Any, ...]:
        return (self.transforms, self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        """Each slice's own domain."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        """Each slice's own codomain."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _parts(self, x: Any) -> Any:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {x.dim()} dimensions")
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"x.size({self.dim}) = {x.size(self.dim)} must equal len(transforms) {len(self.transforms)}"
            )
        return [x.select(self.dim, i) for i in range(x.size(self.dim))]

    _slice = _parts

    def _join(self, parts: list[Any]) -> Any:
        return torch.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        pairs = zip(self.transforms, self._parts(x), self._parts(y), strict=True)
        return self._join([t.log_abs_det_jacobian(before, after) for t, before, after in pairs])


naming.present(globals(), "torch.distributions.transforms")
