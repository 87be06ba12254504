#!/usr/bin/env python3
"""Writes shim_torch/_impl/data/records.py: what the records say that every import of torch defines (shim_torch/_impl/table/rows.py).

    records.py [--check | --print]

Run with a Python that has what shim-torch needs, after a change of such a record; where no core is built in the tree, the
installed package answers, of the same sources. ``--check`` writes
nothing, and exits with 1 where the file holds something else; ``--print`` prints what it should hold.
"""

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "shim_torch/_impl/data/records.py"
PLACE = "shim_torch._impl.records."
HEAD = '''"""What records say whose modules are imported late (``table/rows.py``); ``tools/records.py`` writes it."""

FAMILIES = {
'''


def _declared() -> dict[str, list[Any]]:
    """By family of those that an import defines: its records. All modules are imported: there are no rows meanwhile."""
    name = "shim_torch._impl.data.records"
    sys.modules[name] = ModuleType(name)
    sys.modules[name].FAMILIES = {}  # type: ignore[attr-defined]
    sys.modules[name].__file__ = str(FILE)
    found: dict[str, list[Any]] = {}
    real = importlib.import_module

    def import_module(name: str, package: str | None = None) -> ModuleType:
        known = sys.modules.get("shim_torch._impl.table.record")
        before = len(known.RECORDS) if known else 0
        module = real(name, package)
        if known and name.startswith(PLACE):
            found[name.removeprefix(PLACE)] = list(known.RECORDS.values())[before:]
        return module

    importlib.import_module = import_module
    try:
        import shim_torch  # noqa: F401
    finally:
        importlib.import_module = real
    return {family: found[family] for family in sys.modules["shim_torch._impl.table.operators"].FAMILIES}


def text() -> str:
    """What the file holds, from the records themselves."""
    lines = [HEAD]
    for family, records in _declared().items():
        rows = [sys.modules["shim_torch._impl.table.rows"].row_of(record) for record in records]
        for row in rows:
            if ast.literal_eval(repr(row)) != row:
                raise ValueError(f"{row[0]}: its options are no literals")
        lines.append(f"    {family!r}: (\n" + "".join(f"        {row!r},\n" for row in rows) + "    ),\n")
    return "".join([*lines, "}\n"])


def main() -> None:
    """Writes the file, or with ``--check`` says whether it is what it should be."""
    if list((ROOT / "shim_torch/_impl/native").glob("_core*.so")):
        sys.path.insert(0, str(ROOT))  # else the package that is installed, of the same sources
    made = text()
    if "--print" in sys.argv:
        print(made, end="")
    elif FILE.exists() and FILE.read_text() == made:
        if "--check" not in sys.argv:
            FILE.touch()  # families that are newer are imported at once
        print(f"{FILE.relative_to(ROOT)} is up to date")
    elif "--check" in sys.argv:
        sys.exit(f"{FILE.relative_to(ROOT)} differs: run tools/records.py")
    else:
        FILE.write_text(made)
        print(f"{FILE.relative_to(ROOT)} is written anew")


if __name__ == "__main__":
    main()
