"""``torch._decomp``: operators written with other operators: PyTorch's list, and what libraries register."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from shim_torch._impl.transforms.decompositions.table import build
from shim_torch._ops import OpOverload, OpOverloadPacket

__all__ = [
    "_register_decomposition",
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "global_decomposition_table",
    "meta_table",
    "pre_autograd_decomposition_table",
    "register_decomposition",
]

_ALL, _CORE = build()

global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = {
    "post_autograd": _ALL,
    "pre_autograd": {},
    "meta": {},
}
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def _should_decompose_because_unsafe_op(op: Any) -> bool:
    """Whether an operator may write to or share memory depending on its input, and says so by a tag."""
    return isinstance(op, OpOverload) and any(t.name == "maybe_aliasing_or_mutating" for t in op.tags)


def _overloads(op: Any) -> list[Any]:
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    if not isinstance(op, OpOverload):
        raise TypeError(f"Expected an operator of torch.ops, got {type(op).__name__}")
    return [op]


def register_decomposition(
    aten_op: Any, registry: dict[Any, Any] | None = None, *, type: str = "post_autograd", unsafe: bool = False
) -> Callable[[Any], Any]:
    """A decorator: notes a function as the decomposition of one operator or several. Errors: RuntimeError for a second one."""
    if type not in global_decomposition_table:
        raise AssertionError(f"type must be one of {set(global_decomposition_table)}, got {type}")
    table = global_decomposition_table[type] if registry is None else registry

    def decorate(fn: Any) -> Any:
        for one in aten_op if isinstance(aten_op, (list, tuple, set)) else [aten_op]:
            for overload in _overloads(one):
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn

    return decorate


_register_decomposition = register_decomposition


def get_decompositions(
    aten_ops: Sequence[OpOverload | OpOverloadPacket], type: str = "post_autograd"
) -> dict[OpOverload, Callable[..., Any]]:
    """Those of ``aten_ops`` that a library registered a decomposition for."""
    table = global_decomposition_table[type]
    wanted = [overload for op in aten_ops for overload in _overloads(op)]
    return {overload: table[overload] for overload in wanted if overload in table}


def remove_decompositions(decompositions: dict[Any, Any], aten_ops: Iterable[Any]) -> None:
    """Takes the decompositions of ``aten_ops`` out of a table."""
    for op in aten_ops:
        for overload in _overloads(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> Any:
    """Those of the table whose operators are no core operators: what is left then is written with the core."""
    return dict(_CORE)


def __getattr__(name: str) -> Any:
    if name in ("decompositions", "decompositions_for_jvp", "decompositions_for_rng"):
        try:
            return import_module(f"shim_torch._decomp.{name}")
        except ModuleNotFoundError:
            pass
    from shim_torch._impl.surface.missing import missing

    return missing("torch._decomp", name)
