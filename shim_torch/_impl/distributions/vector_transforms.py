"""Transforms of vectors and matrices: the simplex and Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

from shim_torch import linalg
from shim_torch._impl.distributions.transform import ByClass, Reshaping, Transform
from shim_torch._impl.surface import naming
from shim_torch._impl.table.calls import torch
from shim_torch._impl.tensor.type_info import finfo
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
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
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx| at ``x`` with ``y = self(x)``, summed over the event dims."""
        return self.distribution.log_prob(x)


naming.present(globals(), "torch.distributions.transforms")
