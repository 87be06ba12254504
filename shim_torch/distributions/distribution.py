"""``Distribution``: what all distributions have."""

from __future__ import annotations

import warnings
from typing import Any

import shim_torch as torch
from shim_torch.distributions import constraints
from shim_torch.distributions.utils import _broadcastable, broadcast_all, lazy_property

__all__ = ["Distribution"]


UNDECLARED = {
    "arg_constraints": ". Please set `arg_constraints = {}` or initialize the distribution with "
    "`validate_args=False` to turn off validation.",
    "support": " to enable sample validation. Please initialize the distribution with `validate_args=False` "
    "to turn off validation.",
}


def _require(constraint: Any, value: Any, what: str, wanted: str) -> None:
    """ValueError that shows ``value`` where any of it breaks a constraint."""
    if not constraint.check(value).all():
        given = f"{type(value).__name__} of shape {tuple(value.shape)}"
        raise ValueError(f"Expected {what} ({given}) {wanted}, but found invalid values:\n{value}")


class Distribution:
    """A batch of distributions over events: ``batch_shape`` and ``event_shape``.

    A subclass that names its tensors in ``_parameters`` (and members that are distributions themselves) gets
    ``expand`` from here; everything else it keeps in ``__dict__`` is carried over as it is.
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args = __debug__
    _parameters: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether parameters and samples are checked where a distribution isn't told."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = torch.Size(batch_shape), torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _set(self, **values: Any) -> Any:
        """Keeps the parameters, broadcast to one shape; returns that shape."""
        tensors = broadcast_all(*values.values())
        self.__dict__.update(zip(values, tensors, strict=True))
        return tensors[0].size()

    def _check_parameters(self) -> None:
        for name, constraint in (self._declared("arg_constraints") or {}).items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # given in another form
            _require(
                constraint,
                getattr(self, name),
                f"parameter {name}",
                f"of distribution {self!r} to satisfy the constraint {constraint!r}",
            )

    def _declared(self, name: str) -> Any:
        """``arg_constraints`` or ``support``; None, with a warning, of a class that says nothing of them."""
        try:
            return getattr(self, name)
        except NotImplementedError:
            warnings.warn(f"{self.__class__} does not define `{name}`{UNDECLARED[name]}", stacklevel=4)
            return None

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same with its parameters expanded to a batch shape (``_instance``: a subclass's, to be filled)."""
        if not self._parameters:
            raise NotImplementedError
        owner = next(c for c in type(self).__mro__ if c.__module__.startswith(("torch.distributions", __package__)))
        new = self._get_checked_instance(owner, _instance)
        shape = torch.Size(batch_shape)
        own = ("_batch_shape", "_event_shape", "_validate_args")
        for name, value in self.__dict__.items():
            if name not in own and not (new is _instance and name in vars(new)):
                new.__dict__[name] = self._expanded(value, shape) if name in self._parameters else value
        Distribution.__init__(new, shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, value: Any, shape: Any) -> Any:
        """A tensor or a member distribution over another batch shape."""
        batch = value.batch_shape if isinstance(value, Distribution) else value.shape
        return value.expand(shape + batch[len(self._batch_shape) :])

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    def batch_shape(self) -> Any:
        """The shape over which parameters differ."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """Parameter names and the constraints they satisfy."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint that draws satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        """The mean, of the batch and event shape."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most likely value, of the batch and event shape."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance, of the batch and event shape."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The standard deviation, of the batch and event shape."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws, without gradients: sample_shape + batch_shape + event_shape."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Draws through which gradients flow to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """n draws (deprecated: ``sample((n,))``)."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The log of the density or probability at ``value``."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of a draw of at most ``value``."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The value whose cdf is ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """Every value of a discrete distribution, along a new first dim."""
        raise NotImplementedError

    def _values(self, values: Any, expand: bool) -> Any:
        """A vector of values as ``enumerate_support`` gives it."""
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + tuple(self._batch_shape)) if expand else values

    def entropy(self) -> Any:
        """The expected -log_prob, of batch shape."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """exp(entropy)."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value: Any) -> None:
        """Does nothing where arguments aren't checked; ValueError for a value of a wrong shape or outside the support."""
        if not self._validate_args:
            return
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape, event, whole = value.size(), self._event_shape, self._batch_shape + self._event_shape
        if event and shape[-len(event) :] != event:
            raise ValueError(f"The right-most size of value must match event_shape: {shape} vs {event}.")
        if not _broadcastable(shape, whole):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {whole}.")
        support = self._declared("support")
        if support is not None:
            _require(
                support, value, "value argument", f"to be within the support ({support!r}) of the distribution {self!r}"
            )

    def _checked(self, value: Any) -> Any:
        """``value``, after validation where arguments are checked."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{k}: {v if v.numel() == 1 else v.size()}"
            for k in self.arg_constraints
            if (v := self.__dict__.get(k)) is not None
        )
        return f"{self.__class__.__name__}({shown})"
