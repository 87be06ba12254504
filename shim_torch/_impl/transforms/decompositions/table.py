"""The table of decompositions: for each operator of PyTorch's table, ours.

An operator that is a composite here is its own body; ``formulas`` and the files beside it write out others; in-place and
out= forms follow from the functional one. What is a single kernel here and has no formula is not in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from shim_torch._impl import data
from shim_torch._ops import ops

Table = dict[Any, Callable[..., Any]]

# Composites whose bodies run what the operator itself is part of below autograd, and further forms of single kernels.
_KEPT = frozenset(
    """embedding lift lift_fresh detach native_batch_norm.out item empty_like is_complex sym_numel frexp.Tensor_out
    special_zeta.other_scalar special_zeta.self_scalar linspace.Scalar_Tensor linspace.Tensor_Scalar linspace.Tensor_Tensor
    logspace.Scalar_Tensor logspace.Tensor_Scalar logspace.Tensor_Tensor""".split()
)


def names() -> Iterator[tuple[str, bool]]:
    """``add.Tensor`` and whether it is one that the core operators do not need."""
    text = data.read("decompositions.txt")
    for word in text.split():
        yield word.removeprefix("~"), not word.startswith("~")


def overload(name: str) -> Any:
    """The object ``torch.ops.aten.add.Tensor`` of a name, None where there is none here."""
    operator, _, variant = name.partition(".")
    packet = getattr(ops.aten, operator, None)
    return getattr(packet, variant or "default", None)


class Decomposition:
    """A decomposition as a function of the operator's arguments."""

    __slots__ = ("__name__", "_arguments", "_body", "_op")

    def __init__(self, name: str, op: Any, body: Callable[..., Any]) -> None:
        self.__name__ = name
        self._body = body
        self._op = op
        self._arguments: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._arguments is None:
            self._arguments = self._op._schema.arguments
        bound = [*args]
        for argument in self._arguments[len(args) :]:
            bound.append(kwargs.pop(argument.name) if argument.name in kwargs else argument.default)
        if kwargs:
            raise TypeError(f"{self.__name__}() got an unexpected keyword argument '{next(iter(kwargs))}'")
        return self._body(*(_repeated(a, v) for a, v in zip(self._arguments, bound, strict=True)))


def _repeated(argument: Any, value: Any) -> Any:
    """A number given for a list of a fixed length, as that list."""
    count = getattr(argument, "N", None)
    return (value,) * count if count and isinstance(value, int) and not isinstance(value, bool) else value


def _into_out(functional: Callable[..., Any], outs: tuple[str, ...], *args: Any, **kwargs: Any) -> Any:
    """The out= form: computed, then written."""
    from shim_torch._impl.table.rules import resized_out

    into = [kwargs.pop(name) for name in outs]
    found = functional(*args, **kwargs)
    for target, value in zip(into, found if isinstance(found, tuple) else (found,), strict=True):
        resized_out(target, value.shape).copy_(value)
    return into[0] if len(into) == 1 else tuple(into)


def _into_self(functional: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    return self.copy_(functional(self, *args, **kwargs))


def functional_names(name: str) -> list[str]:
    """What an in-place or out= form may be of: ``addmm.out`` of ``addmm``, ``add.out`` of ``add.Tensor``."""
    operator, _, variant = name.partition(".")
    if operator.endswith("_") and not operator.endswith("__"):
        return [operator[:-1] + (f".{variant}" if variant else "")]
    plain = {"out": "", "grad_input": "", "output": ""}.get(variant, variant.removesuffix("_out"))
    return [f"{operator}.{plain}"] if plain else [operator, f"{operator}.Tensor"]


def _form(name: str, op: Any, found: Table) -> Callable[..., Any] | None:
    """An in-place or out= form of an operator in the table."""
    outs = tuple(a.name for a in op._schema.arguments if a.is_out)
    in_place = name.partition(".")[0].endswith("_")
    if not outs and not in_place:
        return None
    functional = next((found[f] for f in map(overload, functional_names(name)) if f in found), None)
    if functional is None:
        return None
    return partial(_into_out, functional, outs) if outs else partial(_into_self, functional)


def build() -> tuple[Table, Table]:
    """(all decompositions, those of operators outside the core ATen set)."""
    from shim_torch._impl.table.operators import records
    from shim_torch._impl.transforms.decompositions import activations as activations
    from shim_torch._impl.transforms.decompositions import contractions as contractions
    from shim_torch._impl.transforms.decompositions import layouts as layouts
    from shim_torch._impl.transforms.decompositions.formulas import FORMULAS

    found: Table = {}
    core: Table = {}
    later = []
    for name, in_core in names():
        op = overload(name)
        if op is None or name in _KEPT:
            continue
        record = records().get(f"aten::{name}")
        what: Callable[..., Any] | None = FORMULAS.get(name)
        if what is None and record is not None and record.kind == "composite":
            what = Decomposition(name, op, record.body)
        if what is None:
            later.append((name, in_core, op))
            continue
        found[op] = what
        if in_core:
            core[op] = what
    for name, in_core, op in later:
        what = _form(name, op, found)
        if what is not None:
            found[op] = what
            if in_core:
                core[op] = what
    return found, core


__all__ = ["Decomposition", "Table", "build", "functional_names", "names", "overload"]
