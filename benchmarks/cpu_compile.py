"""Fused pointwise operators on the CPU beside PyTorch's, eager and compiled: ``cpu_compile.py --reference PYTHON [--threads 1 2]``.

Five operators over 1e6 floats and four other programs. Ours runs as a recorded program (``native/src/program``), eager both in this
package and in PyTorch; PyTorch's ``torch.compile`` needs a C++ compiler. The medians are of interleaved rounds: one process a
library, taking turns. A ratio is the time of eager divided by that of the fused program.
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


def five(f: Any, x: Any, y: Any) -> Any:
    """A chain of five operators."""
    return f("relu", f("mul.Tensor", f("sigmoid", f("mul.Tensor", f("add.Tensor", x, y), 0.5)), x))


def arithmetic(f: Any, x: Any, y: Any) -> Any:
    """Five operators that compute little."""
    return f("relu", f("sub.Tensor", f("mul.Tensor", f("mul.Tensor", f("add.Tensor", x, y), 0.5), x), y))


def two(f: Any, x: Any, y: Any) -> Any:
    return f("relu", f("add.Tensor", x, y))


CASES: dict[str, tuple[Any, tuple[int, ...], str]] = {
    "five operators, 1e6 float32": (five, (1_000_000,), "float32"),
    "five of arithmetic, 1e6 float32": (arithmetic, (1_000_000,), "float32"),
    "five operators, 1e6 bfloat16": (five, (1_000_000,), "bfloat16"),
    "five operators, 1e4 float32": (five, (10_000,), "float32"),
    "relu(x + y), 1024 float32": (two, (1024,), "float32"),
}


def timed(call: Callable[[], Any], seconds: float) -> float:
    """The median of one call, in microseconds."""
    call(), call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        before = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - before)
    return statistics.median(times) / 1000


def eager(torch: Any) -> Any:
    """Calls by the names of ATen."""
    known = {
        "add.Tensor": torch.add,
        "sub.Tensor": torch.sub,
        "mul.Tensor": torch.mul,
        "relu": torch.relu,
        "sigmoid": torch.sigmoid,
    }
    return lambda name, *args: known[name](*args)


def ours(case: Any, x: Any, y: Any) -> Callable[[], Any]:
    sys.path.insert(0, str(ROOT / "tests" / "program"))
    from recording import Recording

    r = Recording(x, y)
    r.returns(case(r.step, x, y))
    assert len(r.lines) == 1, r.lines
    return r.run


def serve(library: str, threads: int) -> None:
    """A case's name comes in, its medians go out, until the input ends."""
    if library == "ours":
        import shim_torch as torch
    else:
        import torch  # type: ignore[no-redef]
    torch.set_num_threads(threads)
    for line in sys.stdin:
        with torch.no_grad():
            print(json.dumps(medians(torch, library, *CASES[json.loads(line)])), flush=True)


def medians(torch: Any, library: str, case: Any, shape: tuple[int, ...], dtype: str) -> list[float]:
    """Eager and fused, in microseconds."""
    torch.manual_seed(0)
    x, y = (torch.randn(shape).to(getattr(torch, dtype)) for _ in range(2))
    f = eager(torch)
    if library == "ours":
        return [timed(lambda: case(f, x, y), 0.4), timed(ours(case, x, y), 0.4)]
    compiled = torch.compile(lambda x, y: case(f, x, y), fullgraph=True)
    return [timed(lambda: case(f, x, y), 0.4), timed(lambda: compiled(x, y), 0.4)]


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
    print(f"{'':34}{'ours':>10}{'fused':>10}{'ratio':>8}{'PyTorch':>10}{'compiled':>10}{'ratio':>8}")
    for case in CASES:
        found: dict[str, list[list[float]]] = {name: [] for name in servers}
        for _ in range(rounds):
            for name, server in servers.items():
                assert server.stdin and server.stdout
                print(json.dumps(case), file=server.stdin, flush=True)
                found[name].append(json.loads(server.stdout.readline()))
        (a, b), (c, d) = ([statistics.median(column) for column in zip(*found[name], strict=True)] for name in servers)
        print(f"{case:34}{a:10.1f}{b:10.1f}{a / b:8.2f}{c:10.1f}{d:10.1f}{c / d:8.2f}", flush=True)
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
