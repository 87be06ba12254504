"""Compiled pointwise functions on the CPU beside PyTorch's, and eager: ``cpu_compile.py --reference PYTHON [--threads 1 2]``.

PyTorch's ``torch.compile`` needs a C++ compiler. The medians are of interleaved rounds: one process a library, taking turns.
A ratio is the time of eager divided by that of the compiled function.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


# A function's result, the tensors' shape and dtype. "five of arithmetic" computes little, a sigmoid takes half the time of its five.
CASES: dict[str, tuple[str, tuple[int, ...], str]] = {
    "five operators, 1e6 float32": ("torch.relu(torch.sigmoid((x + y) * 0.5) * x)", (1_000_000,), "float32"),
    "five of arithmetic, 1e6 float32": ("torch.relu((x + y) * 0.5 * x - y)", (1_000_000,), "float32"),
    "five operators, 1e6 bfloat16": ("torch.relu(torch.sigmoid((x + y) * 0.5) * x)", (1_000_000,), "bfloat16"),
    "five operators, 1e4 float32": ("torch.relu(torch.sigmoid((x + y) * 0.5) * x)", (10_000,), "float32"),
    "relu(x + y), 1024 float32": ("torch.relu(x + y)", (1024,), "float32"),
    "x + y, 1024 float32": ("x + y", (1024,), "float32"),
    "x + y, 4 float32": ("x + y", (4,), "float32"),
}


def timed(call: Callable[[], Any], seconds: float) -> float:
    """The median of one call, in microseconds."""
    for _ in range(10):  # of a compiled one: until it is known
        call()
    before = time.perf_counter()
    call()
    at_once = max(1, int(20e-6 / (time.perf_counter() - before)))
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        before = time.perf_counter()
        for _ in range(at_once):
            call()
        times.append((time.perf_counter() - before) / at_once)
    return statistics.median(times) * 1e6


def serve(library: str, threads: int) -> None:
    """A case's name comes in, its medians go out, until the input ends."""
    if library == "ours":
        import shim_torch as torch
    else:
        import torch  # type: ignore[no-redef]
    torch.set_num_threads(threads)
    for line in sys.stdin:
        with torch.no_grad():
            print(json.dumps(medians(torch, *CASES[json.loads(line)])), flush=True)


def medians(torch: Any, result: str, shape: tuple[int, ...], dtype: str) -> list[float]:
    """Eager and compiled, in microseconds."""
    torch.manual_seed(0)
    x, y = (torch.randn(shape).to(getattr(torch, dtype)) for _ in range(2))
    names: dict[str, Any] = {"torch": torch}
    exec(f"def function(x, y):\n    return {result}", names)
    function = names["function"]
    compiled = torch.compile(function)
    return [timed(lambda: function(x, y), 0.4), timed(lambda: compiled(x, y), 0.4)]


def compare(reference: str, threads: int, rounds: int) -> None:
    servers = {
        name: subprocess.Popen(
            [python, __file__, "--serve", name, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, python in (("ours", sys.executable), ("torch", reference))
    }
    print(f"{threads} thread{'s' if threads > 1 else ''}: microseconds, medians of {rounds} rounds")
    print(f"{'':34}{'ours':>10}{'compiled':>10}{'ratio':>8}{'PyTorch':>10}{'compiled':>10}{'ratio':>8}")
    for case in CASES:
        found: dict[str, list[list[float]]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, server in servers.items():
                assert server.stdin and server.stdout
                print(json.dumps(case), file=server.stdin, flush=True)
                found[name].append(json.loads(server.stdout.readline()))
        (a, b), (c, d) = ([statistics.median(column) for column in zip(*found[name], strict=True)] for name in servers)
        print(f"{case:34}{a:10.2f}{b:10.2f}{a / b:8.2f}{c:10.2f}{d:10.2f}{c / d:8.2f}", flush=True)
    for server in servers.values():
        assert server.stdin
        server.stdin.close()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", default=sys.executable)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve")
    given = parser.parse_args()
    if given.serve:
        return serve(given.serve, given.threads[0])
    for threads in given.threads:
        compare(given.reference, threads, given.rounds)
    return None


if __name__ == "__main__":
    main()
