"""What ``torch.ops.aten`` has beyond the records, made when an operator is first asked for.

``aten_overloads.txt`` names PyTorch's other overloads by their schemas (``~``: PyTorch composes it of other operators at every level).
Most follow from an overload that is there: with out=, in place, with numbers for tensors, or functional where only a writing one
is. The others are records of their own families. What is neither is not there, and asking for it says so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from shim_torch._impl import data
from shim_torch._impl.native import _core
from shim_torch._impl.table import rows
from shim_torch._impl.table.record import function

FAMILIES: tuple[str, ...] = (
    "aten.tensors",
    "aten.assertions",
    "aten.draws",
    "aten.fused_optimizers",
    "aten.normalization",
    "aten.gradients",
    "aten.loss_gradients",
    "aten.fake_quantization",
    "aten.convolutions",
    "aten.recurrent_cells",
    "aten.numeric",
    "aten.probes",
    "aten.nested_tensors",
)

_begun: set[str] = set()  # names whose overloads were looked for
_complete: set[str] = set()  # those of which every thread may see them
_shown: dict[tuple[str, str], str] = {}  # (name, overload) -> PyTorch's schema, where ours takes more


@lru_cache(maxsize=1)
def table() -> dict[str, list[tuple[str, bool]]]:
    """The further overloads of every name: schemas, and whether PyTorch composes them of other operators."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for line in data.read("aten_overloads.txt").splitlines():
        schema = line.removeprefix("~")
        found.setdefault(schema.partition("(")[0].partition(".")[0], []).append((schema, line != schema))
    return found


@lru_cache(maxsize=1)
def _load_families() -> None:
    from shim_torch._impl.table.operators import complete, define_families

    complete()
    define_families(FAMILIES)


def complete(name: str) -> None:
    """Defines what is missing of ``torch.ops.aten.<name>``, as far as it can be derived or a family has it.

    Another thread may be at it: this one waits.
    """
    if name in _complete:
        return
    with rows.lock:
        if name in _begun:  # by another thread, in the meantime, or asked for by what is being defined
            return
        _begun.add(name)
        try:
            _define_missing(name)
        finally:
            _complete.add(name)


def _define_missing(name: str) -> None:
    entries = table().get(name)
    if not entries:
        return
    _load_families()
    from shim_torch._impl.table.aten_derived import derive

    present = set(_core.operator_overloads(f"aten::{name}"))
    for schema, composed in sorted(entries, key=lambda entry: "!) out" in entry[0] or "!)[] out" in entry[0]):
        overload = schema.partition("(")[0].partition(".")[2]
        if overload in present:
            _shown[name, overload] = f"aten::{schema}"
        elif derive(f"aten::{schema}"):
            present.add(overload)
        else:
            _define_without_kernel(schema, bool(_core.operator_overloads(f"aten::{name}")))
            continue
        if not composed:
            _core._mark_for_dispatch(f"aten::{name}", overload, True, None)


def _define_without_kernel(schema: str, ops_only: bool) -> None:
    """The operator is there to be named, and to be given kernels by ``torch.library``; a call says that there is none."""
    try:
        _core.define_schema("aten", f"aten::{schema}", ops_only)
    except RuntimeError:  # a type that our schemas do not have
        return


def public_function(name: str) -> Any:
    """The function ``torch.<name>`` of an operator, or None where there is none of that name."""
    complete(name)
    qualified = f"aten::{name}"
    return function(qualified, "torch") if _core.operator_overloads(qualified) else None


def schema_of(name: str, overload: str) -> str | None:
    """PyTorch's schema of an overload of ours that takes further arguments, else None."""
    return _shown.get((name, overload))


def has_operator(name: str) -> bool:
    """Whether PyTorch has an operator of that name that may not be here."""
    return name in table()


def has_overload(name: str, overload: str) -> bool:
    """Whether PyTorch has this overload, which may not be here."""
    return any(schema.partition("(")[0].partition(".")[2] == overload for schema, _ in table().get(name, ()))


def not_here(name: str, overload: str | None = None) -> Any:
    """The error for an operator that PyTorch has and that is not here."""
    from shim_torch._impl.surface.missing import unsupported_operator

    return unsupported_operator(
        f"torch.ops.aten.{name}" + (f".{overload or 'default'}" if overload is not None else "")
    )
