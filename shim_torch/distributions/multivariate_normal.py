"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import _standard_normal, lazy_property, member

__all__ = ["MultivariateNormal"]
ONE_OF = "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."


def _batch_mv(bmat: Any, bvec: Any) -> Any:
    """Matrices times vectors, batches broadcast."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Any, bx: Any) -> Any:
    """x' (L L')^-1 x for triangular factors (..., n, n) and vectors (..., n), batches broadcast."""
    if bL.dim() == 2:  # one factor: all vectors are columns of one system
        solved = torch.linalg.solve_triangular(bL, bx.reshape(-1, bx.shape[-1]).mT, upper=False)
        return solved.pow(2).sum(0).reshape(bx.shape[:-1])
    batch = torch.broadcast_shapes(bL.shape[:-2], bx.shape[:-1])
    columns = bx.expand(batch + bx.shape[-1:]).unsqueeze(-1)
    return torch.linalg.solve_triangular(bL.expand(batch + bL.shape[-2:]), columns, upper=False).pow(2).sum((-2, -1))


def _precision_to_scale_tril(P: Any) -> Any:
    """The lower L with L L' = P^-1, from the Cholesky factor of P with both axes reversed."""
    reversed_factor = torch.linalg.cholesky(torch.flip(P, (-2, -1)))
    inverse = torch.flip(reversed_factor, (-2, -1)).mT
    return torch.linalg.solve_triangular(inverse, torch.eye(P.shape[-1], dtype=P.dtype, device=P.device), upper=False)


class MatrixGiven(Distribution):
    """One of covariance_matrix, precision_matrix and scale_tril is given; the others are computed when asked for."""

    _unbroadcasted_scale_tril: Any

    def _set_factor(self, name: str, matrix: Any) -> None:
        """The Cholesky factor, of the batch shape of the matrix it comes from."""
        factors = {"covariance_matrix": torch.linalg.cholesky, "precision_matrix": _precision_to_scale_tril}
        self._unbroadcasted_scale_tril = matrix if name == "scale_tril" else factors[name](matrix)

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(MatrixGiven):
    """The normal distribution over vectors, given by its mean and one of three matrices.

    Shapes: loc (*, n), the matrix (*, n, n), batches broadcast.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        names = {"covariance_matrix": "", "precision_matrix": "", "scale_tril": " matrix"}
        given = dict(zip(names, (covariance_matrix, precision_matrix, scale_tril), strict=True))
        given = {k: v for k, v in given.items() if v is not None}
        if len(given) != 1:
            raise ValueError(ONE_OF)
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name}{names[name]} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand(batch + (-1, -1))
        self.loc = loc.expand(batch + (-1,))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(name, matrix)

    mean = mode = member("loc")

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, normal)

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, self._checked(value) - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Any:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape)

__getattr__ = _asked_of(__name__)
