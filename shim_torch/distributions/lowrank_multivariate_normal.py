"""The multivariate normal distribution of low rank."""

from __future__ import annotations

from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.multivariate_normal import Gaussian, _batch_mahalanobis, _batch_mv
from shim_torch.distributions.utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _batch_capacitance_tril(W: Any, D: Any) -> Any:
    """The Cholesky factor of I + W' D^-1 W."""
    m = W.size(-1)
    return torch.linalg.cholesky(torch.matmul(W.mT / D.unsqueeze(-2), W) + torch.eye(m, dtype=W.dtype, device=W.device))


def _batch_lowrank_logdet(W: Any, D: Any, capacitance_tril: Any) -> Any:
    """log |W W' + D| (the matrix determinant lemma)."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W: Any, D: Any, x: Any, capacitance_tril: Any) -> Any:
    """x' (W W' + D)^-1 x (the Woodbury identity)."""
    inside = _batch_mv(W.mT / D.unsqueeze(-2), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, inside)


class LowRankMultivariateNormal(Gaussian):
    """The normal distribution over vectors of covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    Shapes: loc (*, n), cov_factor (*, n, m) with m much smaller than n, cov_diag (*, n).
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    _parameters = (
        "loc",
        "cov_factor",
        "cov_diag",
        "covariance_matrix",
        "precision_matrix",
        "scale_tril",
        "variance",
    )

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand(batch + event_shape)
        self.cov_diag = cov_diag.expand(batch + event_shape)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        super().__init__(batch, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)

    def _whole(self, found: Any) -> Any:
        return found.expand(self._batch_shape + found.shape[-2:])

    @lazy_property
    def variance(self) -> Any:  # type: ignore[override]
        """The variance, of the batch and event shape."""
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    def _scaled(self) -> tuple[Any, Any, Any]:
        """D^1/2 as a column, A = D^-1/2 W and the identity: the covariance is D^1/2 (I + A A') D^1/2."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        return root, scaled, torch.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance, (*batch, n, n)."""
        root, scaled, identity = self._scaled()  # better conditioned than the covariance itself
        return self._whole(root * torch.linalg.cholesky(identity + scaled @ scaled.mT))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance, (*batch, n, n)."""
        factor = self._unbroadcasted_cov_factor
        return self._whole(torch.matmul(factor, factor.mT) + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, (*batch, n, n)."""
        root, scaled, identity = self._scaled()
        less = torch.linalg.solve_triangular(self._capacitance_tril, scaled.mT, upper=False)
        return self._whole((identity - less.mT @ less) / (root * root.mT))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws (sample_shape + batch + event shape) through which gradients reach the parameters."""
        shape = self._extended_shape(sample_shape)
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        few = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **options)
        each = self._unbroadcasted_cov_diag.sqrt() * _standard_normal(shape, **options)
        return self.loc + _batch_mv(self._unbroadcasted_cov_factor, few) + each

    def _log_det(self) -> Any:
        parts = (self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril)
        return _batch_lowrank_logdet(*parts)

    def _distance(self, away: Any) -> Any:
        parts = (self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag)
        return _batch_lowrank_mahalanobis(*parts, away, self._capacitance_tril)
