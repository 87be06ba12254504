"""What differs from the stored answers of PyTorch: ``python _report.py FOLDER [--write] [PATTERN]``.

``known_differences.txt`` says how many cases of an operator may differ; ``--write`` records today's counts.
"""

from __future__ import annotations

import pickle
import re
import sys
from collections import defaultdict
from pathlib import Path

from _compare import Case, compare, evaluate
from _peer import families

KNOWN = Path(__file__).parent / "known_differences.txt"
OPERATOR = re.compile(r"(torch\.[\w.]+|F\.\w+|\w+(?:\.clone\(\))?\.\w+|\S+)")


def operator(case: Case) -> str:
    """What a case is counted under: the name it calls."""
    found = OPERATOR.match(case.code)
    return found.group(1) if found else case.code


def differences(folder: Path, family: str, pattern: str = "") -> dict[str, list[str]]:
    """The differing cases of a family in words, by operator."""
    with open(folder / f"{family}.pickle", "rb") as file:
        cases, answers = pickle.load(file)
    if pattern:
        chosen = [(c, a) for c, a in zip(cases, answers, strict=True) if re.search(pattern, c.code)]
        cases, answers = [c for c, _ in chosen], [a for _, a in chosen]
    found: dict[str, list[str]] = defaultdict(list)
    for case, mine, theirs in zip(cases, evaluate("shim_torch", cases), answers, strict=True):
        what = compare(case, mine, theirs)
        if what:
            found[operator(case)].append(f"{case.name}\n        {what[:400]}")
    return found


def group(family: str) -> str:
    return family.rstrip("0123456789")


def known() -> dict[tuple[str, str], int]:
    """How many cases of (group, operator) may differ."""
    table: dict[tuple[str, str], int] = {}
    for line in KNOWN.read_text().splitlines():
        if line and not line.startswith("#"):
            count, of, name = line.split(" ", 2)
            table[of, name] = int(count)
    return table


def write(folder: Path) -> None:
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for family in families():
        for name, cases in differences(folder, family).items():
            counts[group(family), name] += len(cases)
    lines = ["# Cases that still differ from PyTorch: count, group, operator. Written by _report.py --write."]
    lines += [f"{count} {of} {name}" for (of, name), count in sorted(counts.items())]
    KNOWN.write_text("\n".join(lines) + "\n")
    print(f"{sum(counts.values())} cases of {len(counts)} operators differ")


def main() -> None:
    folder, options = Path(sys.argv[1]), sys.argv[2:]
    if "--write" in options:
        write(folder)
        return
    for family in families():
        for name, cases in differences(folder, family, options[0] if options else "").items():
            print(f"## {family} {name}: {len(cases)}", *cases[:20], sep="\n    ")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    main()
