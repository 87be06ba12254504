"""Records whose modules are imported when their code is first needed.

An operator is defined by what its record says: names, options, what its gradient formulas are called with. Of the families that every
import of torch defines, the rows of ``data/records.py`` say that, so that the functions of a family (bodies, rules, formulas) are
read when one of them is first called or asked for. Native kernels need none of them.

A row: schema, kind, options, gradient formulas, fused ones, whether the shape rule is ``broadcast``; a formula is its inputs, the names
of its parameters, and whether it is ``flat``. ``tools/records.py`` writes them from the records; a row that says something else than its
record is an error when the family is imported. In the source tree, a family that was changed after the rows is imported at once.
"""

from __future__ import annotations

import os
from _thread import RLock  # threading takes longer to import than this module
from collections.abc import Callable
from errno import ENOMEM
from importlib import import_module
from typing import Any

from shim_torch._impl.data import records as _data
from shim_torch._impl.table.record import CODE, RECORDS, Record, parameters

FAMILIES: dict[str, tuple[Any, ...]] = _data.FAMILIES
_OPTIONS = "native function method inplace out aliases keep module differentiable follows ops_only".split()
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(_data.__file__)))
_IN_TREE = os.path.exists(os.path.join(os.path.dirname(_PACKAGE), "tools", "records.py"))  # where records are worked on
_of: dict[str, str] = {}  # record key -> family
# Held while operators' modules are imported. A process does not fork meanwhile: the child would wait for the import for ever.
lock = RLock()
os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


def add(family: str) -> bool:
    """Adds the records of a family's rows, as far as they are not declared; whether it has rows."""
    rows = () if _IN_TREE and _was_changed(family) else FAMILIES.get(family, ())
    for row in rows:
        made = Record(row[0], None, row[1], **dict(row[2]))  # type: ignore[arg-type]
        if RECORDS.setdefault(made.key, made) is made:
            made.row = row
            _of[made.key] = family
            for name in CODE:
                delattr(made, name)
    return bool(rows)


def _was_changed(family: str) -> bool:
    """Whether the family's module was written a minute or more after the rows: what it says may be something else by now."""
    source = os.path.join(_PACKAGE, "_impl", "records", *family.split(".")) + ".py"
    return os.path.getmtime(source) > os.path.getmtime(_data.__file__) + 60


def import_family(record: Record) -> None:
    """Imports the module of a record that waits for it, which gives the record its functions."""
    import_late(f"shim_torch._impl.records.{_of[record.key]}")


def import_late(module: str) -> Any:
    """A module that a call of an operator needs first. MemoryError where there is no memory to read it: a further call tries again."""
    try:
        with lock:
            return import_module(module)
    except OSError as error:
        if error.errno != ENOMEM:
            raise
        raise MemoryError(f"no memory to import {module}") from None


def take_code(waiting: Record, declared: Record) -> None:
    """Gives a record that waits what its module declares. (Again where an import of the module failed before.)"""
    if row_of(declared) != waiting.row:
        raise TypeError(f"{declared.key}: shim_torch/_impl/data/records.py says something else; run tools/records.py")
    for name in CODE:
        setattr(waiting, name, getattr(declared, name))


def row_of(record: Record) -> tuple[Any, ...]:
    """The row of a record whose module is imported."""
    plain = Record(record.schema, record.body, record.kind)
    said = [(name, getattr(record, name)) for name in _OPTIONS if getattr(record, name) != getattr(plain, name)]
    options = (*said, *record.traits.items())
    broadcasts = getattr(record.shape, "__name__", "") == "broadcast"
    return record.schema, record.kind, options, _formulas(record.grad), _formulas(record.fused), broadcasts


def _formulas(given: dict[str, Callable[..., Any]]) -> tuple[Any, ...]:
    return tuple((inputs, parameters(f), hasattr(f, "flat")) for inputs, f in given.items())
