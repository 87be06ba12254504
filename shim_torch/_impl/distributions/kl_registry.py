"""Which function gives the divergence of two classes, and ``kl_divergence``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from shim_torch.distributions.distribution import Distribution

Divergence = Callable[[Any, Any], Any]
_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_KL_MEMOIZE: dict[tuple[type, type], Any] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Divergence], Divergence]:
    """Makes a function the divergence between two classes of distributions, and of their subclasses."""
    if not isinstance(type_p, type) and issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) and issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorate(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorate


def _dispatch_kl(type_p: type, type_q: type) -> Any:
    """The function registered for the nearest pair of base classes, or NotImplemented."""
    found = [(a, b) for a, b in _KL_REGISTRY if issubclass(type_p, a) and issubclass(type_q, b)]
    if not found:
        return NotImplemented
    near_p, near_q = type_p.__mro__.index, type_q.__mro__.index
    left = min(found, key=lambda pair: (near_p(pair[0]), near_q(pair[1])))
    right = min(found, key=lambda pair: (near_q(pair[1]), near_p(pair[0])))
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """KL(p || q) = E_p[log p(x) - log q(x)], of batch shape; NotImplementedError where there is no formula."""
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    function = _KL_MEMOIZE[key]
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return function(p, q)
