"""Divergences of two distributions of one class. _kl_cross.py has those of different classes."""

from __future__ import annotations

import math
from typing import Any

import shim_torch as torch
from shim_torch._impl.distributions import kl_cross  # noqa: F401 (registers its pairs)
from shim_torch._impl.distributions.kl_registry import (  # noqa: F401 (PyTorch's names)
    _KL_MEMOIZE,
    _KL_REGISTRY,
    _dispatch_kl,
    kl_divergence,
    register_kl,
)
from shim_torch.distributions.bernoulli import Bernoulli
from shim_torch.distributions.beta import Beta
from shim_torch.distributions.binomial import Binomial
from shim_torch.distributions.categorical import Categorical
from shim_torch.distributions.cauchy import Cauchy
from shim_torch.distributions.continuous_bernoulli import ContinuousBernoulli
from shim_torch.distributions.dirichlet import Dirichlet
from shim_torch.distributions.exp_family import ExponentialFamily
from shim_torch.distributions.exponential import Exponential
from shim_torch.distributions.gamma import Gamma
from shim_torch.distributions.geometric import Geometric
from shim_torch.distributions.gumbel import Gumbel
from shim_torch.distributions.half_normal import HalfNormal
from shim_torch.distributions.independent import Independent
from shim_torch.distributions.laplace import Laplace
from shim_torch.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_mahalanobis,
)
from shim_torch.distributions.multivariate_normal import MultivariateNormal, _batch_mahalanobis
from shim_torch.distributions.normal import Normal
from shim_torch.distributions.one_hot_categorical import OneHotCategorical
from shim_torch.distributions.pareto import Pareto
from shim_torch.distributions.poisson import Poisson
from shim_torch.distributions.transformed_distribution import TransformedDistribution
from shim_torch.distributions.uniform import Uniform
from shim_torch.distributions.utils import _sum_rightmost, euler_constant
from shim_torch.nn.functional import softplus

__all__ = ["kl_divergence", "register_kl"]


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = torch.where(p.probs == 0, 0.0, torch.where(q.probs == 0, math.inf, one))
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return one + torch.where(p.probs == 1, 0.0, torch.where(q.probs == 1, math.inf, zero))


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Any:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    # A q of fewer trials can't give what p does; one of more has no closed form.
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return found.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    t = p.probs * (p.logits - q.logits)
    t = torch.where((q.probs == 0).expand_as(t), math.inf, t)
    return torch.where((p.probs == 0).expand_as(t), 0.0, t).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Any:
    own = p._cont_bern_log_norm() + torch.log1p(-p.probs)
    return p.mean * (p.logits - q.logits) + own - q._cont_bern_log_norm() - torch.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    change = ((p.concentration - q.concentration) * p._mean_log()).sum(-1)
    return change + q._log_normalizer(q.concentration) - p._log_normalizer(p.concentration)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: Any, q: Any) -> Any:
    """The Bregman divergence: how far q's log normaliser lies above the plane that touches it at p."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    there = q._natural_params
    plane = p._tangent(there, lambda product: _sum_rightmost(product, len(q.event_shape)))
    return q._log_normalizer(*there) - plane


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    norm = q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
    shapes = (p.concentration - q.concentration) * p.concentration.digamma()
    return norm + shapes + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + away + ratio * euler_constant + ((1 + ratio).lgamma() - away).exp() - (1 + euler_constant)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Any:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Any:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p: Any, q: Any) -> Any:
    _same_event(p, q, "two Low Rank Multivariate Normals with")
    W, D = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    V, E, tril = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag, q._capacitance_tril
    distance = _batch_lowrank_mahalanobis(W, D, q.loc - p.loc, tril)
    # The trace of (W W' + D)^-1 (V V' + E), by the Woodbury identity.
    over = W.mT / D.unsqueeze(-2)
    own = (E / D).sum(-1) + (V.pow(2) / D.unsqueeze(-1)).sum((-1, -2))
    first = _solved(tril, over * E.sqrt().unsqueeze(-2))
    second = _solved(tril, over.matmul(V))
    return 0.5 * (q._log_det() - p._log_det() + own - first - second + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_low_rank(p: Any, q: Any) -> Any:
    _same_event(p, q, "two (Low Rank) Multivariate Normals with")
    W, D, tril = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q._capacitance_tril
    factor = p._unbroadcasted_scale_tril
    distance = _batch_lowrank_mahalanobis(W, D, q.loc - p.loc, tril)
    own = (factor.pow(2) / D.unsqueeze(-1)).sum((-1, -2))
    less = _solved(tril, (W.mT / D.unsqueeze(-2)).matmul(factor))
    return 0.5 * (q._log_det() - p._log_det() + own - less + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_full(p: Any, q: Any) -> Any:
    _same_event(p, q, "two (Low Rank) Multivariate Normals with")
    factor = q._unbroadcasted_scale_tril
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    own = _solved(factor, p._unbroadcasted_cov_factor)
    own = own + _solved(factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt()))
    return 0.5 * (q._log_det() - p._log_det() + own + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _full(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    factor = q._unbroadcasted_scale_tril
    own = _solved(factor, p._unbroadcasted_scale_tril)
    distance = _batch_mahalanobis(factor, q.loc - p.loc)
    return 0.5 * (q._log_det() - p._log_det() + own + distance - p.event_shape[0])


def _same_event(p: Any, q: Any, which: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between {which} different event shapes cannot be computed")


def _solved(tril: Any, matrix: Any) -> Any:
    """The squared Frobenius norm of tril^-1 @ matrix, batches broadcast."""
    batch = torch.broadcast_shapes(tril.shape[:-2], matrix.shape[:-2])
    tril, matrix = tril.expand(batch + tril.shape[-2:]), matrix.expand(batch + matrix.shape[-2:])
    return torch.linalg.solve_triangular(tril, matrix, upper=False).pow(2).sum((-2, -1))


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return torch.where(p.scale < q.scale, math.inf, found)


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms:
        raise NotImplementedError
    if p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
