"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.chi2 import Chi2
from shim_torch.distributions.exp_family import ExponentialFamily
from shim_torch.distributions.multivariate_normal import FACTORS, MatrixGiven
from shim_torch.distributions.utils import vec_to_tril_matrix

__all__ = ["Wishart"]


class Wishart(MatrixGiven, ExponentialFamily):
    """The distribution of ``df`` times the sample covariance of that many normal draws.

    Shapes: df (*), larger than n - 1; the matrix (*, n, n), batches broadcast.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _not_one = AssertionError
    _called = dict.fromkeys(FACTORS, "scale_tril")
    _parameters = ("df", "covariance_matrix", "precision_matrix", "scale_tril", "_dist_chi2")
    df: Any

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The constraints of the parameters, by name."""
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
        given = self._one_given(covariance_matrix, precision_matrix, scale_tril)
        matrix = given[1]
        if isinstance(df, Number):
            df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        n = matrix.shape[-1]
        if (df <= n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if (df < n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        self._init_matrix(given, ("df", df, 0), matrix.shape[-2:], validate_args)
        self._batch_dims = list(range(-1, -1 - len(self._batch_shape), -1))
        # A draw's Cholesky factor has chi draws on its diagonal, of one degree of freedom less in each row.
        rows = torch.arange(n, dtype=self.df.dtype, device=self.df.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - rows)

    @property
    def _n(self) -> int:
        return self._event_shape[-1]

    def _times(self, factor: Any, matrix: Any) -> Any:
        """Matrices times one number each."""
        return factor[..., None, None] * matrix

    @property
    def mean(self) -> Any:
        """df times the covariance, (*batch, n, n)."""
        return self._times(self.df, self.covariance_matrix)

    @property
    def mode(self) -> Any:
        """(df - n - 1) times the covariance; NaN where df is at most n + 1."""
        above = self.df - self._n - 1
        return self._times(above.masked_fill(above <= 0, torch.nan), self.covariance_matrix)

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        each = self.covariance_matrix.diagonal(dim1=-2, dim2=-1)
        products = torch.einsum("...i,...j->...ij", each, each)
        return self._times(self.df, products + self.covariance_matrix.square())

    def _bartlett_sampling(self, sample_shape: Any = ()) -> Any:
        """Draws L A A' L', A lower with chi draws on its diagonal and normal ones below (Bartlett, 1933)."""
        chi = self._dist_chi2.rsample(sample_shape).sqrt()
        chi = chi.clamp(min=torch.finfo(chi.dtype).eps)
        below = torch.randn((*chi.shape[:-1], self._n * (self._n - 1) // 2), dtype=chi.dtype, device=chi.device)
        factor = self._unbroadcasted_scale_tril @ (chi.diag_embed() + vec_to_tril_matrix(below, diag=-1))
        return factor @ factor.mT

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

    def _scale_log_det(self) -> Any:
        """log |2 covariance_matrix|."""
        return self._n * math.log(2) + self._log_det()

    def _log_norm(self) -> Any:
        return self.df / 2 * self._scale_log_det() + torch.mvlgamma(self.df / 2, p=self._n)

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``: sample shape and batch shape."""
        value, factor = self._checked(value), self._unbroadcasted_scale_tril
        batch = torch.broadcast_shapes(factor.shape[:-2], value.shape[:-2])
        whole = (value.expand(batch + value.shape[-2:]), factor.expand(batch + factor.shape[-2:]))
        trace = torch.cholesky_solve(*whole).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        power = (self.df - self._n - 1) * torch.linalg.slogdet(value).logabsdet
        return (power - trace) / 2 - self._log_norm()

    def entropy(self) -> Any:
        """The entropy in nats, of the batch shape."""
        # The log of a draw's determinant adds up those of the chi-squared draws and of the scale's.
        mean_log_det = self._scale_log_det() + self._dist_chi2.concentration.digamma().sum(-1)
        return self._log_norm() - (self.df - self._n - 1) / 2 * mean_log_det + self.df * self._n / 2

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.precision_matrix / 2, (self.df - self._n - 1) / 2)

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # type: ignore[override]
        p = self._n
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + p * math.log(2)) + torch.mvlgamma(half, p=p)
