"""``torch.fx.experimental.symbolic_shapes``: sizes are plain numbers here, so every question has its answer now."""

from __future__ import annotations

from typing import Any


def is_symbolic(value: Any) -> bool:
    """Whether a size is symbolic: no."""
    return False


def has_free_symbols(value: Any) -> bool:
    return False


def free_symbols(value: Any) -> set[Any]:
    return set()


free_unbacked_symbols = free_symbols
has_free_unbacked_symbols = has_hint = has_free_symbols


def is_nested_int(s: Any) -> bool:
    """Whether a size is the ragged one of a nested tensor: no."""
    return False


def guard_bool(value: Any) -> bool:
    return bool(value)


def guard_int(value: Any) -> int:
    return int(value)


def guard_float(value: Any) -> float:
    return float(value)


def guard_scalar(value: Any) -> Any:
    return value


def guard_size_oblivious(value: Any) -> bool:
    return bool(value)


def guard_or_true(value: Any) -> bool:
    return bool(value)


guard_or_false = statically_known_true = definitely_true = guard_size_oblivious


def statically_known_false(value: Any) -> bool:
    return not value


def is_concrete_int(value: Any) -> bool:
    return isinstance(value, int)


def hint_int(value: Any, fallback: int | None = None) -> int:
    return int(value)


def sym_eq(x: Any, y: Any) -> bool:
    return bool(x == y)


def constrain_range(value: Any, *, min: int, max: int | None = None) -> None:
    """ValueError outside the range."""
    if value < min or (max is not None and value > max):
        raise ValueError(f"Invalid value {value} for range [{min}:{max}]")


class ShapeEnv:
    """The symbols of a trace; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("torch.fx.experimental.symbolic_shapes.ShapeEnv is not supported by shim-torch")


class GuardOnDataDependentSymNode(RuntimeError):
    """A question about a symbol that has no value yet."""


def __getattr__(name: str) -> Any:
    from shim_torch._missing import missing

    return missing("torch.fx.experimental.symbolic_shapes", name)
