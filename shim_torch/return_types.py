"""``torch.return_types``: the named tuples that operators with several results give (``torch.return_types.max`` ...)."""

from __future__ import annotations

from typing import Any

from shim_torch._impl.native import _core
from shim_torch._impl.table.record import RECORDS as _RECORDS
from shim_torch._impl.table.record import Record as _Record


def _records(name: str) -> list[_Record]:
    """The records of a public operator that name several results."""
    overloads = _core.operator_overloads(f"aten::{name}") if name[:1] != "_" else ()  # defines those that wait
    found = (_RECORDS.get(f"aten::{name}.{o}" if o else f"aten::{name}") for o in overloads)
    return [r for r in found if r is not None and (r.function or r.method) and _fields(r)]


def _fields(record: _Record) -> tuple[str, ...]:
    """The names of the results; () where it has one, or they have no names."""
    head, _, results = record.schema.rpartition(" -> (")
    words = [result.split() for result in results.rstrip(")").split(", ")]
    return tuple(w[1] for w in words) if head and all(len(w) == 2 for w in words) else ()


def _writes(name: str) -> bool:
    return any(r.out or "out" in r.overload for r in _records(name))


def _names() -> list[str]:
    """PyTorch's own order is the alphabet's."""
    from shim_torch._impl.table.operators import records

    found = {r.name for r in records().values() if r.ns == "aten" and r.name[0] != "_" and _fields(r)}
    public = [name for name in found if _records(name)]
    return sorted([*public, *(f"{name}_out" for name in public if _writes(name))])


def __getattr__(name: str) -> Any:
    found = _records(name.removesuffix("_out")) if name[:2] != "__" else []
    if not found or (name.endswith("_out") and not _writes(name.removesuffix("_out"))):
        if name == "all_return_types":
            return [__getattr__(n) for n in _names()]
        from shim_torch._impl.surface.missing import missing

        return missing("torch.return_types", name)
    made = globals()[name] = _core.return_type(name, _fields(found[0]))
    return made


def __dir__() -> list[str]:
    return sorted([*globals(), *_names()])
