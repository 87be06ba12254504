"""What the stress programs share: options, a line for each program, a process's memory."""

from __future__ import annotations

import argparse
import gc
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
if next((HERE / "shim_torch" / "_impl" / "native").glob("_core*"), None):  # else the installed one
    sys.path.insert(0, str(HERE))

Program = Callable[[float], str]  # takes the scale, says what it did, raises where something is wrong


def main(programs: dict[str, Program]) -> None:
    """Runs the programs and prints a line for each; exit status 1 where one failed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0, help="how much of the full run: 0.01 is a hundredth")
    parser.add_argument("--only", help="the programs whose name has this in it")
    options = parser.parse_args()
    failed = False
    for name, program in programs.items():
        if options.only and options.only not in name:
            continue
        begin = time.perf_counter()
        try:
            said = program(options.scale)
        except Exception:
            traceback.print_exc()
            failed, said = True, "FAILED"
        print(f"{name:<34}{time.perf_counter() - begin:8.1f} s  {said}", flush=True)
    sys.exit(failed)


def count(scale: float, full: int, least: int = 1) -> int:
    """So many times at this scale."""
    return max(least, int(full * scale))


def resident() -> int:
    """Bytes of memory this process holds, after a collection."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096
