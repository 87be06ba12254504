"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import _standard_normal, lazy_property, member

__all__ = ["MultivariateNormal"]


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


def _inverse_of_tril(factor: Any) -> Any:
    identity = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return torch.linalg.solve_triangular(factor, identity, upper=False)


def _precision_to_scale_tril(P: Any) -> Any:
    """The lower L with L L' = P^-1, from the Cholesky factor of P with both axes reversed."""

    def both_reversed(matrix: Any) -> Any:
        return matrix.flip(-2, -1)

    return both_reversed(_inverse_of_tril(torch.linalg.cholesky(both_reversed(P)))).mT


FACTORS: dict[str, Callable[[Any], Any]] = {
    "covariance_matrix": torch.linalg.cholesky,
    "precision_matrix": _precision_to_scale_tril,
    "scale_tril": lambda matrix: matrix,
}


class Gaussian(Distribution):
    """Normal distributions over vectors: the density from ``_log_det`` of the covariance and ``_distance``."""

    support = constraints.real_vector
    has_rsample = True
    loc: Any
    mean = mode = member("loc")

    def _log_det(self) -> Any:
        raise NotImplementedError

    def _distance(self, away: Any) -> Any:
        """away' covariance^-1 away."""
        raise NotImplementedError

    def _minus_log(self, distance: Any) -> Any:
        """-log of the density at a squared distance from the mean."""
        return (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance) / 2

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        return -self._minus_log(self._distance(self._checked(value) - self.loc))

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        return self._minus_log(self._event_shape[0]).expand(
            self._batch_shape
        )  # the mean distance is the number of dims


class MatrixGiven(Distribution):
    """One of covariance_matrix, precision_matrix and scale_tril is given; the others are computed when asked for."""

    _unbroadcasted_scale_tril: Any
    _not_one: type[Exception] = ValueError
    _called = {"scale_tril": "scale_tril matrix"}  # in errors

    def _one_given(self, *matrices: Any) -> tuple[str, Any]:
        """The name and the value of the one of the three that is not None."""
        given = [(name, matrix) for name, matrix in zip(FACTORS, matrices, strict=True) if matrix is not None]
        if len(given) != 1:
            raise self._not_one("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError(
                f"{self._called.get(name, name)} must be at least two-dimensional, with optional leading batch dimensions"
            )
        return name, matrix

    def _init_matrix(
        self, given: tuple[str, Any], other: tuple[str, Any, int], event: Any, validate_args: bool | None
    ) -> None:
        """Does what ``__init__`` does, with another parameter: its name, its value and how many of its dims aren't batch dims.

        The factor keeps the batch shape of the matrix that it comes from.
        """
        (name, matrix), (other_name, value, dims) = given, other
        own = value.dim() - dims
        batch = torch.broadcast_shapes(matrix.shape[:-2], value.shape[:own])
        self.__dict__[name] = matrix.expand(batch + matrix.shape[-2:])
        self.__dict__[other_name] = value.expand(batch + value.shape[own:])
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = FACTORS[name](matrix)

    def _log_det(self) -> Any:
        """log |covariance_matrix|."""
        return 2 * self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def _whole(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance, (*batch, n, n)."""
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance, (*batch, n, n)."""
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, (*batch, n, n)."""
        return self._whole(torch.cholesky_inverse(self._unbroadcasted_scale_tril))


class MultivariateNormal(MatrixGiven, Gaussian):
    """The normal distribution over vectors, given by its mean and one of three matrices.

    Shapes: loc (*, n), the matrix (*, n, n), batches broadcast.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
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
        given = self._one_given(covariance_matrix, precision_matrix, scale_tril)
        self._init_matrix(given, ("loc", loc, 1), loc.shape[-1:], validate_args)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, normal)

    def _distance(self, away: Any) -> Any:
        return _batch_mahalanobis(self._unbroadcasted_scale_tril, away)
