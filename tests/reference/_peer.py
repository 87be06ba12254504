"""Answers every case with the PyTorch installed here: ``python _peer.py FOLDER [FAMILY…]`` writes one file a family."""

from __future__ import annotations

import functools
import importlib
import pickle
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OPINFO_FILES = 6


def families() -> list[str]:
    own = sorted(p.stem.removeprefix("cases_") for p in HERE.glob("cases_*.py"))
    return own + [f"opinfo{i}" for i in range(OPINFO_FILES)]


@functools.cache
def samples() -> list[Any]:
    return list(importlib.import_module("_opinfo").cases())


def cases_of(family: str) -> list[Any]:
    if not family.startswith("opinfo"):
        return list(importlib.import_module(f"cases_{family}").cases())
    every, part, of = samples(), int(family.removeprefix("opinfo")), OPINFO_FILES
    return every[len(every) * part // of : len(every) * (part + 1) // of]


def main() -> None:
    sys.path.insert(0, str(HERE))
    compare = importlib.import_module("_compare")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for family in sys.argv[2:] or families():
        cases = cases_of(family)
        with open(folder / f"{family}.pickle", "wb") as file:
            pickle.dump((cases, compare.evaluate("torch", cases)), file)
        print(f"{family}: {len(cases)} cases", flush=True)


if __name__ == "__main__":
    main()
