"""``Constraint``, and constraints that depend on other variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shim_torch._impl.surface import naming

HOME = "torch.distributions.constraints"  # where PyTorch has them, and pickles look


class Constraint:
    """A set of values. ``check(value)`` is a boolean tensor, one truth for each event of ``event_dim`` dims."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """Whether each event of ``value`` lies in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__[1:] + "()"


class _Dependent(Constraint):
    """A set that depends on other variables, so that nothing can be checked without them."""

    __module__ = HOME

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim
        super().__init__()

    @property
    def is_discrete(self) -> bool:
        return self._known("is_discrete")

    @property
    def event_dim(self) -> int:
        return self._known("event_dim")

    def _known(self, name: str) -> Any:
        value = getattr(self, "_" + name)
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def _changed(self, is_discrete: Any, event_dim: Any) -> dict[str, Any]:
        return {
            "is_discrete": self._is_discrete if is_discrete is NotImplemented else is_discrete,
            "event_dim": self._event_dim if event_dim is NotImplemented else event_dim,
        }

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        """The same, with what is known of it before the other variables are."""
        return _Dependent(**self._changed(is_discrete, event_dim))

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint can't be checked by itself."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of a distribution that gives a constraint; of the class itself, a dependent constraint."""

    __module__ = HOME

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: bool | None = NotImplemented,
        event_dim: int | None = NotImplemented,
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        return _DependentProperty(fn, **self._changed(is_discrete, event_dim))


naming.present(globals(), HOME)
