"""Fused programs on a GPU beside PyTorch's eager and compiled: ``gpu_compile.py --reference PYTHON``.

Each line has the host's time for a call (calls are enqueued, nobody waits for them) and the whole one (until the last has run, divided
by their number), in microseconds: the medians of interleaved rounds in one process a library, ours with the interpreter that runs this
file and PyTorch's with another one.
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
CALLS = 200


def two(f: Any, x: Any, y: Any) -> Any:
    return f("relu", f("add.Tensor", x, y))


def five(f: Any, x: Any, y: Any) -> Any:
    return f("relu", f("mul.Tensor", f("sigmoid", f("mul.Tensor", f("add.Tensor", x, y), 0.5)), x))


def perceptron(f: Any, x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Two layers with a gelu between and a residual sum."""
    return f("add.Tensor", f("linear", f("gelu", f("linear", x, a, b)), c, d), x)


CASES: dict[str, tuple[Any, list[tuple[int, ...]], str]] = {
    "relu(x + y), 1024 float32": (two, [(1024,)] * 2, "float32"),
    "five operators, 1e6 float32": (five, [(1_000_000,)] * 2, "float32"),
    "five operators, 1e6 bfloat16": (five, [(1_000_000,)] * 2, "bfloat16"),
    "five, 4096 x 4096 + row, bfloat16": (five, [(4096, 4096), (4096,)], "bfloat16"),
    "perceptron 64 x 512, bfloat16": (perceptron, [(64, 512), (2048, 512), (2048,), (512, 2048), (512,)], "bfloat16"),
}


def timed(torch: Any, call: Callable[[], Any]) -> list[float]:
    """Microseconds of a call on the host, and as a whole."""
    for _ in range(20):
        call()
    hosts, wholes = [], []
    for _ in range(7):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        enqueued = time.perf_counter()
        torch.cuda.synchronize()
        wholes.append((time.perf_counter() - start) / CALLS * 1e6)
        hosts.append((enqueued - start) / CALLS * 1e6)
    return [statistics.median(hosts), statistics.median(wholes)]


def eager(torch: Any) -> Any:
    """Calls by the names of ATen."""
    functional = torch.nn.functional
    known = {"add.Tensor": torch.add, "mul.Tensor": torch.mul, "relu": torch.relu, "sigmoid": torch.sigmoid}
    known |= {"linear": functional.linear, "gelu": functional.gelu}
    return lambda name, *args: known[name](*args)


def programs(torch: Any, library: str, case: Any, tensors: list[Any]) -> dict[str, Callable[[], Any]]:
    """What is timed."""
    f = eager(torch)
    found = {"eager": lambda: case(f, *tensors)}
    if library == "ours":
        sys.path.insert(0, str(ROOT / "tests" / "program"))
        from recording import Recording

        r = Recording(*tensors)
        r.returns(case(r.step, *tensors))
        (got,), expected = r.run(), case(f, *tensors)
        torch.testing.assert_close(got, expected, rtol=2e-2, atol=2e-2)
        return found | {"fused": r.run}
    compiled = torch.compile(lambda *t: case(f, *t), fullgraph=True)
    replayed = torch.compile(lambda *t: case(f, *t), fullgraph=True, mode="reduce-overhead")
    return found | {"compiled": lambda: compiled(*tensors), "reduce-overhead": lambda: replayed(*tensors)}


def serve(library: str) -> None:
    """A case's name comes in, its times go out, until the input ends."""
    if library == "ours":
        import shim_torch as torch
    else:
        import torch  # type: ignore[no-redef]
    known: dict[str, dict[str, Callable[[], Any]]] = {}
    for line in sys.stdin:
        name = json.loads(line)
        case, shapes, dtype = CASES[name]
        with torch.no_grad():
            if name not in known:
                torch.manual_seed(0)
                tensors = [torch.randn(s, device="cuda", dtype=getattr(torch, dtype)) for s in shapes]
                known[name] = programs(torch, library, case, tensors)
            print(json.dumps({k: timed(torch, call) for k, call in known[name].items()}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve")
    given = parser.parse_args()
    if given.serve:
        return serve(given.serve)
    servers = [
        subprocess.Popen([python, __file__, "--serve", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name, python in (("ours", sys.executable), ("torch", given.reference))
    ]
    for case in CASES:
        found: dict[tuple[int, str], list[list[float]]] = {}
        for _ in range(given.rounds):
            for i, server in enumerate(servers):
                assert server.stdin and server.stdout
                print(json.dumps(case), file=server.stdin, flush=True)
                for name, times in json.loads(server.stdout.readline()).items():
                    found.setdefault((i, name), []).append(times)
        print(case)
        for (i, name), times in found.items():
            host, whole = (statistics.median(t) for t in zip(*times, strict=True))
            print(f"    {'PyTorch' if i else 'ours':8}{name:18}host {host:7.2f}   whole {whole:7.2f}", flush=True)
    for server in servers:
        assert server.stdin
        server.stdin.close()
        server.wait()
    return None


if __name__ == "__main__":
    main()
