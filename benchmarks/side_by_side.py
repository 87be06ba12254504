"""Runs the same cases in two interpreters that take turns, and prints a table of medians and ratios.

Each side is a child process that waits for a case's name on its standard input, calls the case for a short while and
answers with the time of a call. The sides alternate, many short turns each, so that whatever else the machine does
meets both alike. Used by the benchmarks of this folder.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

Cases = dict[str, Callable[[], Any]]


# Seconds between turns. A library's worker threads look out for more work for some milliseconds (OpenMP's do) and would
# hold a processor that the other side is measured on.
SETTLE = 0.005

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}


def time_of(call: Callable[[], Any], seconds: float, clock: str = "wall") -> float:
    """Median seconds of a call over repeats of about 100 microseconds or one call each."""
    now = CLOCKS[clock]
    call()
    start = now()
    call()
    count = max(1, int(1e-4 / max(now() - start, 1e-7)))
    times = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = now()
        for _ in range(count):
            call()
        times.append((now() - start) / count)
    return median(times)


def serve(cases: Cases, seconds: float, clock: str = "wall") -> None:
    """The child's loop. A case that raises answers its error instead of a time."""
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        try:
            print(json.dumps(time_of(cases[line.strip()], seconds, clock)), flush=True)
        except Exception as error:
            print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)


class Side:
    """A child interpreter that serves cases, with this tree's packages or, ``installed``, with its environment's alone."""

    def __init__(
        self, python: str, script: str, library: str, extra: Sequence[str] = (), installed: bool = False
    ) -> None:
        root = "" if installed else str(Path(__file__).parents[1])
        path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
        self.process = subprocess.Popen(
            [python, script, "--serve", library, *extra],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.names: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the child process ended with status {self.process.wait()}")
        return json.loads(line)

    def measure(self, name: str) -> float | str:
        """Seconds of one call, or why there are none."""
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(sides: dict[str, Side], rounds: int, only: str = "") -> dict[str, dict[str, list[float] | str]]:
    """All turns of every case that the first side has: ``{case: {side: times, or the error's text}}``."""
    first = next(iter(sides.values()))
    names = [n for n in first.names if only in n]
    found: dict[str, dict[str, list[float] | str]] = {n: {s: [] for s in sides} for n in names}
    for _ in range(rounds):
        for name in names:
            for label, side in sides.items():
                times = found[name][label]
                if isinstance(times, str):
                    continue
                time.sleep(SETTLE)
                answer = side.measure(name)
                if isinstance(answer, str):
                    found[name][label] = answer
                else:
                    times.append(answer)
    return found


def print_table(found: dict[str, dict[str, list[float] | str]], ours: str, peer: str) -> None:
    """Microseconds a call: the median over the turns, their quartiles' spread, and ours as a part of the peer's."""
    print(f"{'case':36}{ours + ' us':>16}{'spread':>8}{peer + ' us':>14}{'spread':>8}{'ratio':>8}")
    for name, sides in found.items():
        line = f"{name:36}"
        for label, width in ((ours, 16), (peer, 14)):
            times = sides.get(label)
            if not times or isinstance(times, str):
                line += f"{(times or 'not run')[:width]:>{width}}{'':8}"
                continue
            low, high = sorted(times)[len(times) // 4], sorted(times)[3 * len(times) // 4]
            line += f"{median(times) * 1e6:{width}.2f}{(high - low) / median(times):8.0%}"
        a, b = sides.get(ours), sides.get(peer)
        if a and b and not isinstance(a, str) and not isinstance(b, str):
            line += f"{median(a) / median(b):8.2f}"
        print(line)


def machine() -> str:
    """One line: processor, cores, load, system, date and commit."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            model = next(line.split(":", 1)[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=Path(__file__).parent
    ).stdout.strip()
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    load = f"{os.getloadavg()[0]:.1f}"
    return f"{model}, {os.cpu_count()} cores, load average {load}, {platform.system()} {platform.release()}; {now}; commit {commit}"


def version_of(python: str, module: str, installed: bool = False) -> str:
    """``module version`` as that interpreter sees it, with its Python and NumPy; ``installed`` as for a Side."""
    code = (
        f"import platform, numpy, {module} as m; "
        f"print('{module}', getattr(m, '__version__', ''), 'numpy', numpy.__version__, 'python', platform.python_version())"
    )
    root = "" if installed else str(Path(__file__).parents[1])
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": root})
    return done.stdout.strip() or f"{module}: not there"
