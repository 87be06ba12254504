"""``torch.fx.experimental.symbolic_shapes``: sizes are plain numbers here, so every question has its answer now."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from shim_torch._impl.surface.not_built import names


def is_symbolic(value: Any) -> bool:
    """Whether a size is symbolic: no."""
    return False


def has_free_symbols(value: Any) -> bool:
    """False: sizes are plain integers."""
    return False


def free_symbols(value: Any) -> set[Any]:
    """No symbols: sizes are plain integers."""
    return set()


free_unbacked_symbols = free_symbols
has_free_unbacked_symbols = has_hint = has_free_symbols


def is_nested_int(s: Any) -> bool:
    """Whether a size is the ragged one of a nested tensor: no."""
    return False


def guard_bool(value: Any) -> bool:
    """``value`` as a bool."""
    return bool(value)


def guard_int(value: Any) -> int:
    """``value`` as an int."""
    return int(value)


def guard_float(value: Any) -> float:
    """``value`` as a float."""
    return float(value)


def guard_scalar(value: Any) -> Any:
    """``value`` itself."""
    return value


def guard_size_oblivious(value: Any) -> bool:
    """``value`` as a bool."""
    return bool(value)


def guard_or_true(value: Any) -> bool:
    """``value`` as a bool."""
    return bool(value)


guard_or_false = statically_known_true = guard_size_oblivious


def statically_known_false(value: Any) -> bool:
    """Whether ``value`` is false."""
    return not value


def is_concrete_int(value: Any) -> bool:
    """Whether ``value`` is an int."""
    return isinstance(value, int)


def sym_eq(x: Any, y: Any) -> bool:
    """Whether the two are equal."""
    return bool(x == y)


def constrain_range(value: Any, *, min: int, max: int | None = None) -> None:
    """ValueError outside the range."""
    if value < min or (max is not None and value > max):
        raise ValueError(f"Invalid value {value} for range [{min}:{max}]")


class ShapeEnv:
    """The symbols of a trace; there are none."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError("torch.fx.experimental.symbolic_shapes.ShapeEnv is not supported by shim-torch")


class DimDynamic(enum.Enum):
    """How a dim gets its symbol: a new one, that of another dim of the same size, none, one without a value, or from strides."""

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    UNBACKED = 3
    INFER_STRIDE = 4


@dataclass(frozen=True)
class SymbolicContext:
    """How the symbols of a tensor are made."""


@dataclass(frozen=True)
class StatelessSymbolicContext(SymbolicContext):
    """The dims of a tensor and what is asked of each; plain numbers here, so it is kept and not asked."""

    dynamic_sizes: list[DimDynamic]
    dynamic_strides: list[DimDynamic] = None  # type: ignore[assignment]
    constraint_sizes: list[Any] = None  # type: ignore[assignment]
    constraint_strides: list[Any] = None  # type: ignore[assignment]
    specialize_on: list[Any] | None = None
    view_base_context: SymbolicContext | None = None
    shape_ids: dict[int, str | None] | None = None
    unbacked_bounds: dict[int, tuple[int | None, int | None]] | None = None

    def __post_init__(self) -> None:
        n = len(self.dynamic_sizes)
        for name, value in (
            ("specialize_on", [[]] * n),
            ("dynamic_strides", [DimDynamic.INFER_STRIDE] * n),
            ("constraint_sizes", [None] * n),
            ("constraint_strides", [None] * n),
        ):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        if not all(s in (DimDynamic.INFER_STRIDE, DimDynamic.DYNAMIC, DimDynamic.DUCK) for s in self.dynamic_strides):
            raise AssertionError("dynamic_strides must only contain INFER_STRIDE, DYNAMIC, or DUCK")


@dataclass(frozen=True, slots=True)
class ShapeEnvSettings:
    """Settings of a ``ShapeEnv`` that tell fake results apart."""

    allow_scalar_outputs: bool
    allow_dynamic_output_shape_ops: bool
    assume_static_by_default: bool
    specialize_zero_one: bool
    duck_shape: bool
    prefer_deferred_runtime_asserts_over_guards: bool
    trace_asserts: bool


def fx_placeholder_vals(gm: Any) -> list[Any]:
    """What is known of a graph's inputs."""
    return [n.meta["val"] for n in gm.graph.nodes if n.op == "placeholder"]


def fx_placeholder_targets(gm: Any) -> list[str]:
    """The names of a graph's inputs."""
    return [n.target for n in gm.graph.nodes if n.op == "placeholder"]


class GuardOnDataDependentSymNode(RuntimeError):
    """A question about a symbol that has no value yet."""


globals().update(
    names(
        "torch.fx.experimental.symbolic_shapes",
        "sizes are plain numbers, there are no symbols",
        """
        SymNode RelaxedUnspecConstraint StrictMinMaxConstraint StatefulSymbolicContext SubclassSymbolicContext FloorDiv
        ConstraintViolationError EqualityConstraint bind_symbols eval_guards rebind_unbacked to_node compute_unbacked_bindings
        resolve_unbacked_bindings canonicalize_bool_expr eval_is_non_overlapping_and_dense guard_int_or
        """,
    )
)


def __getattr__(name: str) -> Any:
    if name in ("sym_float", "sym_sqrt", "sym_int", "sym_not", "sym_max", "sym_min", "sym_ite"):
        import shim_torch

        return getattr(shim_torch, "_sym_sqrt" if name == "sym_sqrt" else name)
    from shim_torch._impl.surface.missing import missing

    return missing("torch.fx.experimental.symbolic_shapes", name)
