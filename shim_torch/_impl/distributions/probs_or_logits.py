"""What distributions given by probabilities or by logits share."""

from __future__ import annotations

from typing import Any

from shim_torch.distributions.distribution import Distribution
from shim_torch.distributions.utils import lazy_property, logits_to_probs, member, probs_to_logits


def one_of(probs: Any, logits: Any) -> tuple[str, Any]:
    """The name and the value of the one that is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return ("logits", logits) if probs is None else ("probs", probs)


class ProbsOrLogits(Distribution):
    """``probs`` and ``logits``: one is given, the other computed when asked for."""

    _parameters: tuple[str, ...] = ("probs", "logits")
    _given: str

    def _set_one(self, probs: Any, logits: Any, **others: Any) -> Any:
        """Keeps what is given, broadcast together with the other parameters; returns the shape."""
        self._given, value = one_of(probs, logits)
        return self._set(**others, **{self._given: value})

    @property
    def _param(self) -> Any:
        return self.__dict__[self._given]

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Any:
        """Log-odds, or unnormalised log-probabilities; computed from the probabilities where those were given."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities; computed from the logits where those were given."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the given probabilities or logits."""
        return self._param.size()


class OfCategorical(Distribution):
    """``probs`` and ``logits`` are those of a member ``_categorical``."""

    _parameters: tuple[str, ...] = ("_categorical",)
    _categorical: Any
    _param = member("_categorical._param")
    probs = member("_categorical.probs")
    logits = member("_categorical.logits")
    param_shape = member("_categorical.param_shape")

    def _split_shape(self) -> tuple[Any, Any]:
        """The batch shape, and the event shape of one dim: the categories."""
        return self.param_shape[:-1], self.param_shape[-1:]

    def _new(self, *args: Any, **kwargs: Any) -> Any:
        return self._categorical._new(*args, **kwargs)
