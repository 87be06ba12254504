"""``python -m compat coverage``: how much of PyTorch's public surface is here, part by part."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections import defaultdict
from typing import Any

from shim_torch_proxy.cli import program


def found(torch: Any, name: str) -> bool:
    """Whether the dotted ``name`` exists here; sub-modules are imported to find out."""
    from shim_torch_proxy.cli.scan import only_a_name

    value = torch
    for part in name.split(".")[1:]:
        try:
            value = getattr(value, part)
        except (AttributeError, ImportError, NotImplementedError):
            return _in_a_module(name)  # torch.nn.utils.weight_norm is a function, and a module of that name holds more
    return not only_a_name(value)


def _in_a_module(name: str) -> bool:
    from shim_torch_proxy import modules
    from shim_torch_proxy.cli.scan import only_a_name

    home, _, leaf = name.rpartition(".")
    try:
        return not only_a_name(getattr(modules.get(home), leaf))
    except (AttributeError, ImportError, NotImplementedError):
        return False


def part_of(name: str, parts: frozenset[str]) -> str:
    """The row a name counts in: ``torch`` for functions and dtypes of the top, else the sub-module or class below it."""
    head = ".".join(name.split(".")[:3])
    while head not in parts:
        head = head.rpartition(".")[0]
    return head


def coverage() -> dict[str, tuple[list[str], list[str]]]:
    """``{part: (names here, names that are not)}`` over PyTorch's public names (``shim_torch/_impl/data/surface.txt``)."""
    from shim_torch._impl.surface.missing import own_surface
    from shim_torch_proxy import modules

    torch = modules.get("torch")
    names = [n for n in sorted(own_surface()) if n != "torch" and not any(p.startswith("_") for p in n.split("."))]
    inner = {n.rpartition(".")[0] for n in names}
    parts = frozenset({"torch"} | {n for n in inner if n.count(".") == 1} | {"torch.nn.functional"})
    table: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated names are names, too
        for name in names:
            table[part_of(name, parts)][not found(torch, name)].append(name)
    return dict(table)


def report(table: dict[str, tuple[list[str], list[str]]]) -> str:
    """The table in Markdown."""
    lines = ["| part | names of PyTorch 2.13 | here |", "| --- | ---: | ---: |"]
    lines += [f"| `{part}` | {len(here) + len(gone)} | {len(here)} |" for part, (here, gone) in sorted(table.items())]
    here, names = sum(len(h) for h, _ in table.values()), sum(len(h) + len(g) for h, g in table.values())
    return "\n".join([*lines, f"| all | {names} | {here} |"])


def missing_of(part: str, table: dict[str, tuple[list[str], list[str]]]) -> list[str] | None:
    """The names of ``part`` (a row, or any module or class below one; ``torch.`` may be left out) that are not here.

    None where PyTorch has no such part.
    """
    if part in table:
        return table[part][1]
    full = part if part.partition(".")[0] == "torch" else f"torch.{part}"
    if full in table:
        return table[full][1]
    rows = [(name, gone) for here, gone in table.values() for name in (*here, *gone) if name.startswith(f"{full}.")]
    return [name for name, gone in rows if name in gone] if rows else None


def main(missing: str | None) -> int:
    """Prints the table, or the names of one part that are not here; 0, or 2 when there is no such part."""
    table = coverage()
    if missing is None:
        print(report(table))
        return 0
    names = missing_of(missing, table)
    if names is None:
        close = difflib.get_close_matches(
            missing.removeprefix("torch."), [part.removeprefix("torch.") for part in table], 3
        )
        advice = f"; did you mean {' or '.join(close)}?" if close else f"; the parts are {', '.join(sorted(table))}"
        print(f"{program()} coverage: PyTorch has no part {missing!r}{advice}", file=sys.stderr)
        return 2
    for name in names:
        print(name)
    print(f"{len(names)} of {missing} missing", file=sys.stderr)
    return 0
