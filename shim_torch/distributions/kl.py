"""Divergences between distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch.distributions.continuous import Exponential, Laplace, Normal, Uniform
from shim_torch.distributions.discrete import Bernoulli, Categorical, OneHotCategorical
from shim_torch.distributions.distribution import Distribution, Independent

__all__ = ["kl_divergence", "register_kl"]
_registry: dict[tuple[type, type], Callable[[Any, Any], Any]] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Any], Any]:
    """Makes a function the divergence between two classes of distributions."""
    for t in (type_p, type_q):
        if not isinstance(t, type) or not issubclass(t, Distribution):
            raise TypeError(f"Expected type_p to be a Distribution subclass but got {t}")

    def decorate(function: Any) -> Any:
        _registry[type_p, type_q] = function
        return function

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """KL(p || q), of batch shape; NotImplementedError where there is no formula."""
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _registry:
                return _registry[a, b](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    import math

    import shim_torch

    t = p.probs * (p.logits - q.logits)
    t = shim_torch.where((q.probs == 0).expand_as(t), math.inf, t)
    return shim_torch.where((p.probs == 0).expand_as(t), 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Any:
    return _categorical(p._categorical, q._categorical)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    import math

    import shim_torch

    softplus = shim_torch.nn.functional.softplus
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = shim_torch.where(q.probs == 0, math.inf, one)
    one = shim_torch.where(p.probs == 0, 0.0, one)
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero = shim_torch.where(q.probs == 1, math.inf, zero)
    return one + shim_torch.where(p.probs == 1, 0.0, zero)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    import math

    import shim_torch

    found = ((q.high - q.low) / (p.high - p.low)).log()
    return shim_torch.where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return p._sum(kl_divergence(p.base_dist, q.base_dist))
