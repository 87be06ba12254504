"""Distributions of whole numbers."""

from __future__ import annotations

import math
from numbers import Number
from typing import Any

from native import _core
from shim_torch.autograd.grad_mode import no_grad
from shim_torch.distributions import constraints
from shim_torch.distributions.distribution import Distribution, ExponentialFamily
from shim_torch.distributions.utils import broadcast_all, logits_to_probs, probs_to_logits

__all__ = ["Bernoulli", "Categorical", "Geometric", "OneHotCategorical"]


class _ProbsOrLogits(Distribution):
    """Given by probabilities or by logits; the other is computed when asked for."""

    _binary = True

    def _set(self, probs: Any, logits: Any) -> Any:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        (value,) = broadcast_all(given)
        self.__dict__[name] = self._param = value
        return _core.Size() if isinstance(given, Number) else value.size()

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            self.__dict__["probs"] = logits_to_probs(self.logits, is_binary=self._binary)
            return self.__dict__["probs"]
        if name == "logits" and "probs" in self.__dict__:
            self.__dict__["logits"] = probs_to_logits(self.probs, is_binary=self._binary)
            return self.__dict__["logits"]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        name = "probs" if self._param is self.__dict__.get("probs") else "logits"
        tail = _core.Size() if self._binary else self._param.shape[-1:]
        return type(self)(**{name: self._param.expand(_core.Size(batch_shape) + tail)}, validate_args=False)


class Bernoulli(_ProbsOrLogits, ExponentialFamily):
    """1 with probability ``probs``, otherwise 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        shape = self._set(probs, logits)
        super().__init__(shape, validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.boolean

    @property
    def param_shape(self) -> Any:
        return self._param.size()

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        found = (self.probs >= 0.5).to(self.probs)
        return found.masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        with no_grad():
            return self.probs.expand(self._extended_shape(sample_shape)).bernoulli()

    def log_prob(self, value: Any) -> Any:
        import shim_torch

        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -shim_torch.nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        import shim_torch

        return shim_torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        import shim_torch

        values = shim_torch.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class Categorical(_ProbsOrLogits):
    """0 .. K-1 with the probabilities of the last dim; they need not add up to one."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        given = probs if probs is not None else logits
        if given.dim() < 1:
            raise ValueError(
                f"`{'probs' if probs is not None else 'logits'}` parameter must be at least one-dimensional."
            )
        if probs is not None:
            self.__dict__["probs"] = self._param = probs / probs.sum(-1, keepdim=True)
        else:
            self.__dict__["logits"] = self._param = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.size(-1)
        super().__init__(given.size()[:-1], validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Any:
        return self._param.size()

    @property
    def mean(self) -> Any:
        return self._param.new_full(self._extended_shape(), math.nan)

    variance = mean

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Any = ()) -> Any:
        sample_shape = _core.Size(sample_shape)
        with no_grad():
            flat = self.probs.reshape(-1, self._num_events).multinomial(sample_shape.numel(), True).T
            return flat.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        import shim_torch

        self._validate_sample(value)
        value, logits = shim_torch.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        from shim_torch import finfo

        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        import shim_torch

        values = shim_torch.arange(self._num_events, dtype=shim_torch.long, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values


class OneHotCategorical(Distribution):
    """A Categorical whose values are one-hot vectors."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    @property
    def probs(self) -> Any:
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        return self._categorical.logits

    @property
    def support(self) -> Any:
        return constraints.one_hot

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        indices = self._categorical.sample(sample_shape)
        return shim_torch.nn.functional.one_hot(indices, self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Any:
        return self._categorical.entropy()


class Geometric(_ProbsOrLogits):
    """The number of failures before the first success."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        shape = self._set(probs, logits)
        super().__init__(shape, validate_args=validate_args)
        if self._validate_args and probs is not None and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs ({type(self.probs).__name__} of shape {tuple(self.probs.shape)}) of distribution {self!r} "
                f"to be positive but found invalid values:\n{self.probs}"
            )

    @property
    def support(self) -> Any:
        return constraints.nonnegative_integer

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        import shim_torch

        with no_grad():
            u = shim_torch.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
            return (u.clamp(min=shim_torch.finfo(u.dtype).tiny).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        import shim_torch

        found = shim_torch.nn.functional.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return found / self.probs
