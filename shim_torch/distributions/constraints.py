"""``torch.distributions.constraints``: which values a parameter or a sample may have."""

from __future__ import annotations

from typing import Any


class Constraint:
    """``check(value)`` is a boolean tensor, over the last ``event_dim`` dims one truth each."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__.lstrip("_") + "()"


class _Real(Constraint):
    def check(self, value: Any) -> Any:
        return value == value  # False for NaN


class _Between(Constraint):
    """lower <= value <= upper, each side open or closed."""

    def __init__(self, lower: Any = None, upper: Any = None, open_lower: bool = False, integer: bool = False) -> None:
        self.lower_bound, self.upper_bound, self.open_lower, self.is_discrete = lower, upper, open_lower, integer

    def check(self, value: Any) -> Any:
        found = value == value if not self.is_discrete else value % 1 == 0
        if self.lower_bound is not None:
            found = found & (value > self.lower_bound if self.open_lower else value >= self.lower_bound)
        return found if self.upper_bound is None else found & (value <= self.upper_bound)

    def __repr__(self) -> str:
        if self.upper_bound is None:
            return f"{'GreaterThan' if self.open_lower else 'GreaterThanEq'}(lower_bound={self.lower_bound})"
        return f"{'Interval' if not self.is_discrete else 'IntegerInterval'}(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _RealVector(Constraint):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value == value).all(-1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Counts(Constraint):
    """Whole numbers that add up to a total."""

    is_discrete = True
    event_dim = 1

    def __init__(self, total: int) -> None:
        self.upper_bound = total

    def check(self, value: Any) -> Any:
        return ((value >= 0) & (value % 1 == 0)).all(-1) & (value.sum(-1) == self.upper_bound)


class _Dependent(Constraint):
    """A constraint that depends on other parameters; it is not checked by itself."""

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


real, boolean, simplex, real_vector, one_hot, dependent = (
    _Real(),
    _Boolean(),
    _Simplex(),
    _RealVector(),
    _OneHot(),
    _Dependent(),
)
positive, nonnegative = _Between(0.0, open_lower=True), _Between(0.0)
unit_interval = _Between(0.0, 1.0)
nonnegative_integer = _Between(0, integer=True)


def interval(lower: Any, upper: Any) -> Constraint:
    """lower <= value <= upper."""
    return _Between(lower, upper)


def integer_interval(lower: Any, upper: Any) -> Constraint:
    """Whole numbers from lower to upper."""
    return _Between(lower, upper, integer=True)


def greater_than(lower: Any) -> Constraint:
    return _Between(lower, open_lower=True)


def greater_than_eq(lower: Any) -> Constraint:
    return _Between(lower)


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.distributions.constraints", name)
