"""Transforms of vectors and matrices: the simplex, Cholesky factors, and different transforms side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shim_torch import linalg
from shim_torch._impl.distributions.transform import ByClass, Reshaping, Transform
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch
from shim_torch._impl.tensor.type_info import finfo
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import (
    _sum_rightmost,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from shim_torch.nn.functional import logsigmoid, pad, softplus


def _clipped_sigmoid(x: Any) -> Any:
    info = finfo(x.dtype)
    return torch.clamp(torch.sigmoid(x), min=info.tiny, max=1.0 - info.eps)


def log_slope_of_tanh(x: Any) -> Any:
    """log(1 - tanh(x)**2), without loss for large x."""
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


def _after_first(x: Any) -> Any:
    """The last dim moved on by one, a one put before: sums and products over what came before."""
    return pad(x[..., :-1], [1, 0], value=1)


class CorrCholeskyTransform(Reshaping, Transform):
    """D * (D - 1) / 2 real numbers to the Cholesky factor of a correlation matrix.

    tanh of each number is a partial correlation; row by row they divide what is left of the row's unit length.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    @staticmethod
    def _left(y: Any) -> Any:
        """What the elements before each one leave of its row's squared length."""
        return _after_first(1 - y.square().cumsum(-1))

    def _call(self, x: Any) -> Any:
        most = math.atanh(1 - finfo(x.dtype).eps)  # tanh stays one rounding away from -1 and 1
        x = vec_to_tril_matrix(x.clamp(-most, most), diag=-1)
        # Of a row's length left before it an element takes the share tanh(x) and leaves 1 / cosh(x).
        left = _after_first(x.cosh().reciprocal().cumprod(-1))
        return left * x.tanh() + left.diagonal(dim1=-2, dim2=-1).diag_embed()

    def _inverse(self, y: Any) -> Any:
        taken, left = (tril_matrix_to_vec(m, diag=-1) for m in (y, self._left(y)))
        return torch.atanh(taken / left.sqrt())

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        left = tril_matrix_to_vec(self._left(y), diag=-1)
        return (log_slope_of_tanh(x) + left.log() / 2).sum(-1)

    def _shape_after(self, count: int) -> tuple[int, int]:  # type: ignore[override]
        size = (1 + math.isqrt(1 + 8 * count)) // 2
        if size * (size - 1) != 2 * count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return size, size

    def _shape_before(self, rows: int, columns: int) -> tuple[int]:  # type: ignore[override]
        if rows != columns:
            raise ValueError("Input is not square")
        return (rows * (rows - 1) // 2,)


class SoftmaxTransform(ByClass, Reshaping, Transform):
    """y = exp(x) made to add up to one; not one-to-one, so it has no jacobian."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        return x.softmax(-1)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(ByClass, Reshaping, Transform):
    """K real numbers to K + 1 that add up to one: each takes a share (a shifted sigmoid) of what is left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _shift(x: Any) -> Any:
        """The log of how many shares are still to come, so that zeros give equal shares."""
        return (x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)).log()

    def _call(self, x: Any) -> Any:
        z = _clipped_sigmoid(x - self._shift(x))
        return pad(z, [0, 1], value=1) * pad((1 - z).cumprod(-1), [1, 0], value=1)

    def _inverse(self, y: Any) -> Any:
        shares = y[..., :-1]
        left = torch.clamp(1 - shares.cumsum(-1), min=finfo(y.dtype).tiny)
        return shares.log() - left.log() + self._shift(shares)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        x = x - self._shift(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def _shape_after(self, count: int) -> tuple[int]:  # type: ignore[override]
        return (count + 1,)

    def _shape_before(self, count: int) -> tuple[int]:  # type: ignore[override]
        return (count - 1,)


class LowerCholeskyTransform(ByClass, Transform):
    """Any matrix to a lower triangle with a positive diagonal: exp of the diagonal, zeros above."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(ByClass, Transform):
    """Any matrix to a positive definite one, through its Cholesky factor."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


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
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
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
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
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


class CumulativeDistributionTransform(Transform):
    """A distribution's cdf: its draws become uniform."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1  # type: ignore[assignment]

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    def _arguments(self) -> tuple[Any, ...]:
        return (self.distribution,)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return self.distribution.log_prob(x)


naming.present(globals(), "torch.distributions.transforms")
