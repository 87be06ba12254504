"""Divergences of distributions of different classes: the cross entropy -E_p[log q(x)] less the entropy of p.

What a cross entropy needs of p is a few moments: its mean and variance, E[log x], E[exp(-t x)].
"""

from __future__ import annotations

import math
from typing import Any

from shim_torch._impl.distributions.kl_registry import register_kl
from shim_torch._impl.table.calls import torch
from shim_torch.distributions.bernoulli import Bernoulli
from shim_torch.distributions.beta import Beta
from shim_torch.distributions.binomial import Binomial
from shim_torch.distributions.continuous_bernoulli import ContinuousBernoulli
from shim_torch.distributions.exponential import Exponential
from shim_torch.distributions.gamma import Gamma
from shim_torch.distributions.gumbel import Gumbel
from shim_torch.distributions.laplace import Laplace
from shim_torch.distributions.normal import Normal
from shim_torch.distributions.pareto import Pareto
from shim_torch.distributions.poisson import Poisson
from shim_torch.distributions.uniform import Uniform
from shim_torch.distributions.utils import euler_constant


def _uniform_log(low: Any, high: Any) -> Any:
    return (torch.xlogy(high, high) - torch.xlogy(low, low)) / (high - low) - 1


MEAN_LOG = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - euler_constant,
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _uniform_log(p.low, p.high),
}
MEAN_EXP = {  # E[exp(-t x)]
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (p.rate / (p.rate + t)).pow(p.concentration),
    Normal: lambda p, t: (-p.loc * t + (p.scale * t).pow(2) / 2).exp(),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low)),
}


def _mean_log(p: Any) -> Any:
    return next(MEAN_LOG[c] for c in type(p).__mro__ if c in MEAN_LOG)(p)


def _from_exponential(p: Any, q: Any) -> Any:
    return q.rate * p.mean - q.rate.log()


def _from_gamma(p: Any, q: Any) -> Any:
    c = q.concentration
    return c.lgamma() - c * q.rate.log() - (c - 1) * _mean_log(p) + q.rate * p.mean


def _from_normal(p: Any, q: Any) -> Any:
    away = p.variance + (p.mean - q.loc).pow(2)
    return 0.5 * math.log(2 * math.pi) + q.scale.log() + 0.5 * away / q.scale.pow(2)


def _from_gumbel(p: Any, q: Any) -> Any:
    inverse = q.scale.reciprocal()
    mean_exp = next(MEAN_EXP[c] for c in type(p).__mro__ if c in MEAN_EXP)(p, inverse)
    return q.scale.log() + (p.mean - q.loc) * inverse + (q.loc * inverse).exp() * mean_exp


def _from_continuous_bernoulli(p: Any, q: Any) -> Any:
    return -p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


def _nothing_outside(p: Any, q: Any, found: Any) -> Any:
    return found


def _above(bound: Any) -> Any:
    """Infinite where p, a uniform distribution, reaches below what q allows."""
    return lambda p, q, found: torch.where(p.low < bound(q), math.inf, found)


def _unit(p: Any, q: Any, found: Any) -> Any:
    return torch.where((p.high > 1) | (p.low < 0), math.inf, found)


def _inner(p: Any, q: Any, found: Any) -> Any:
    return torch.where((p.high >= 1) | (p.low <= 0), math.inf, found)


def _register(type_p: type, type_q: type, cross_entropy: Any, outside: Any = _nothing_outside) -> None:
    register_kl(type_p, type_q)(lambda p, q: outside(p, q, cross_entropy(p, q) - p.entropy()))


def _infinite(type_p: type, type_q: type, of: Any) -> None:
    register_kl(type_p, type_q)(lambda p, q: torch.full_like(of(p), math.inf))


_p: Any
for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform):
    _register(_p, Normal, _from_normal)
for _p in (Beta, ContinuousBernoulli, Gamma, Pareto):
    _register(_p, Exponential, _from_exponential)
for _p in (Beta, Exponential, Pareto):
    _register(_p, Gamma, _from_gamma)
for _p in (Exponential, Gamma, Normal, Uniform):
    _register(_p, Gumbel, _from_gumbel)
_register(Beta, ContinuousBernoulli, _from_continuous_bernoulli)
_register(Uniform, Exponential, _from_exponential, _above(lambda q: 0))
_register(Uniform, Gamma, _from_gamma, _above(lambda q: 0))
_register(Uniform, ContinuousBernoulli, _from_continuous_bernoulli, _inner)

_FIRST = {
    Beta: lambda p: p.concentration1,
    ContinuousBernoulli: lambda p: p.probs,
    Exponential: lambda p: p.rate,
    Gamma: lambda p: p.concentration,
    Gumbel: lambda p: p.loc,
    Laplace: lambda p: p.loc,
    Normal: lambda p: p.loc,
    Pareto: lambda p: p.scale,
    Poisson: lambda p: p.rate,
}
_INFINITE = {  # p may draw what q never does
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}
for _p, _others in _INFINITE.items():
    for _q in _others:
        _infinite(_p, _q, _FIRST[_p])


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Any:
    found = (q.high - q.low).log() - p.entropy()
    return torch.where((q.low > 0) | (q.high < 1), math.inf, found)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: Any, q: Any) -> Any:
    found = (q.high - q.low).log() - p.entropy()
    return torch.where((q.low >= 0) | (q.high <= 1), math.inf, found)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    away = p.loc - q.loc
    scaled = away / p.scale / math.sqrt(2)
    absolute = math.sqrt(2 / math.pi) * p.scale * torch.exp(-scaled.pow(2)) + away * torch.erf(scaled)
    return torch.log(2 * q.scale) + absolute / q.scale - p.entropy()


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    # 1 - x is uniform too.
    logs = (a - 1) * _mean_log(p) + (b - 1) * _uniform_log(1 - p.high, 1 - p.low)
    return _unit(p, q, norm - logs - p.entropy())


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Any:
    found = (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log() - p.entropy()
    return torch.where(p.low < q.scale, math.inf, found)
