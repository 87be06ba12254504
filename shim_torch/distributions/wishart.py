"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

import shim_torch as torch
from shim_torch._missing import asked_of as _asked_of
from shim_torch.distributions import constraints
from shim_torch.distributions.chi2 import Chi2
from shim_torch.distributions.exp_family import ExponentialFamily
from shim_torch.distributions.multivariate_normal import ONE_OF, MatrixGiven

__all__ = ["Wishart"]


def _mvdigamma(x: Any, p: int) -> Any:
    """The derivative of ``torch.mvlgamma``."""
    if not x.gt((p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    return torch.digamma(x.unsqueeze(-1) - torch.arange(p, dtype=x.dtype, device=x.device) / 2).sum(-1)


def _clamp_above_eps(x: Any) -> Any:
    return x.clamp(min=torch.finfo(x.dtype).eps)


class Wishart(MatrixGiven, ExponentialFamily):
    """The distribution of ``df`` times the sample covariance of that many normal draws.

    Shapes: df (*), larger than n - 1; the matrix (*, n, n), batches broadcast.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("df", "covariance_matrix", "precision_matrix", "scale_tril", "_dist_chi2")

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        names = ("covariance_matrix", "precision_matrix", "scale_tril")
        given = dict(zip(names, (covariance_matrix, precision_matrix, scale_tril), strict=True))
        given = {k: v for k, v in given.items() if v is not None}
        if len(given) != 1:
            raise AssertionError(ONE_OF)
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, Number):
            df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch, n = torch.broadcast_shapes(matrix.shape[:-2], df.shape), matrix.shape[-1]
        self.df = df.expand(batch)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        self.__dict__[name] = matrix.expand(batch + (-1, -1))
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._batch_dims = [-(x + 1) for x in range(len(self._batch_shape))]
        self._set_factor(name, matrix)
        freedom = self.df.unsqueeze(-1) - torch.arange(n, dtype=self.df.dtype, device=self.df.device)
        self._dist_chi2 = Chi2(df=freedom)

    @property
    def _n(self) -> int:
        return self._event_shape[-1]

    @property
    def mean(self) -> Any:
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, torch.nan)
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view(self._batch_shape + (1, 1)) * (covariance.pow(2) + outer)

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Any:
        """Draws L A A' L', A lower with chi draws on its diagonal and normal ones below (Bartlett, 1933)."""
        root = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()).diag_embed()
        p = self._event_shape[-1]
        row, column = torch.tril_indices(p, p, offset=-1, device=root.device)
        root[..., row, column] = torch.randn(
            (*root.shape[:-2], p * (p - 1) // 2), dtype=root.dtype, device=root.device
        )
        chol = self._unbroadcasted_scale_tril @ root
        return chol @ chol.mT

    def rsample(self, sample_shape: Any = (), max_try_correction: int | None = None) -> Any:
        """A sample, drawn again up to ``max_try_correction`` (10) times.

        Which ones are drawn again is PyTorch's choice, so that its numbers come out: first those that are valid, of a batch
        all together, then those of the new ones that are singular.
        """
        sample = self._bartlett_sampling(torch.Size(sample_shape))
        waiting = self._any_of_batch(self.support.check(sample))
        if not bool(waiting.any()):
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(10 if max_try_correction is None else max_try_correction):
            again = self._bartlett_sampling((int(waiting.sum()),))
            sample = sample.masked_scatter(
                waiting.reshape(waiting.shape + (1,) * (sample.dim() - waiting.dim())), again
            )
            waiting = waiting.masked_scatter(waiting, self._any_of_batch(~self.support.check(again)))
            if not bool(waiting.any()):
                break
        return sample

    def _any_of_batch(self, found: Any) -> Any:
        dims = tuple(range(-len(self._batch_shape), 0))
        return found.amax(dims) if dims else found

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        value, nu, p = self._checked(value), self.df, self._n
        factor = self._unbroadcasted_scale_tril
        batch = torch.broadcast_shapes(factor.shape[:-2], value.shape[:-2])
        whole = (value.expand(batch + value.shape[-2:]), factor.expand(batch + factor.shape[-2:]))
        trace = torch.cholesky_solve(*whole).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -nu * (p * math.log(2) / 2 + self._half_log_det())
            - torch.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Any:
        nu, p = self.df, self._n
        return (
            (p + 1) * (p * math.log(2) / 2 + self._half_log_det())
            + torch.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.precision_matrix / 2, (self.df - self._n - 1) / 2)

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        p = self._n
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + p * math.log(2)) + torch.mvlgamma(half, p=p)

__getattr__ = _asked_of(__name__)
