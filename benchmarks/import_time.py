"""What an import costs: wall time, processor time and resident memory of compat, numpy, cupy, shim_torch and torch.

    python benchmarks/import_time.py --torch-python /path/to/python/with/torch

Every import runs in a fresh interpreter; the libraries take turns. Memory is the growth of the peak resident set over that
of an interpreter that imports nothing. Libraries that are not there are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from side_by_side import machine, version_of

PROBE = """
import resource, sys, time
used = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start, work, memory = time.perf_counter(), used(), peak()
{statement}
print(time.perf_counter() - start, used() - work, (peak() - memory) / 1024)
"""


def one(python: str, module: str) -> tuple[float, float, float] | None:
    """Seconds, processor seconds and MiB of one import; None where it fails."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = str(Path(__file__).parents[1])
    code = PROBE.format(statement=f"import {module}")
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=environment)
    if done.returncode:
        return None
    wall, work, memory = map(float, done.stdout.split())
    return wall, work, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", help="interpreter with PyTorch")
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    sides = dict.fromkeys(("compat", "numpy", "cupy", "shim_torch"), sys.executable)
    if args.torch_python:
        sides["torch"] = args.torch_python
    print(machine())
    for name, python in list(sides.items()):
        if one(python, name) is None:  # the first run also writes the bytecode
            print(f"{name}: not there")
            del sides[name]
        else:
            print(version_of(python, name))
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in sides}
    for _ in range(args.rounds):
        for name, python in sides.items():
            result = one(python, name)
            if result is not None:
                found[name].append(result)
    print(f"medians of {args.rounds} fresh interpreters each, taking turns; least in brackets\n")
    print(f"{'import':12}{'wall ms':>18}{'processor ms':>20}{'memory MiB':>14}")
    for name, results in found.items():
        wall, work, memory = ([r[i] for r in results] for i in range(3))
        print(
            f"{name:12}{median(wall) * 1e3:10.0f} ({min(wall) * 1e3:5.0f}){median(work) * 1e3:12.0f} ({min(work) * 1e3:5.0f})"
            f"{median(memory):14.1f}"
        )


if __name__ == "__main__":
    main()
