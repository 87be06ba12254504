"""Eager CPU operators of shim_torch against PyTorch, each in an interpreter of its own, on the same random data.

    python benchmarks/cpu_eager.py --peer-python /path/to/python/with/torch

Prints the median time of a call in microseconds for both, and their ratio (below 1: shim_torch is faster).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def cases(torch: Any, tensor: Callable[[Any], Any]) -> dict[str, Callable[[], Any]]:
    """The measured calls by name."""
    import numpy as np

    rng = np.random.default_rng(0)

    def random(*shape: int) -> Any:
        return tensor(rng.standard_normal(shape).astype(np.float32))

    one, other_one = random(1), random(1)
    small, other_small = random(1000), random(1000)
    large, other_large = random(1000000), random(1000000)
    matrix, row = random(1000, 1000), random(1000)
    half, other_half = large.to(torch.bfloat16), other_large.to(torch.bfloat16)
    return {
        "add 1": lambda: torch.add(one, other_one),
        "add 1e3": lambda: torch.add(small, other_small),
        "add 1e6": lambda: torch.add(large, other_large),
        "add bfloat16 1e6": lambda: torch.add(half, other_half),
        "add broadcast 1000x1000 + 1000": lambda: torch.add(matrix, row),
        "mul by number 1": lambda: torch.mul(one, 2.0),
        "mul by number 1e6": lambda: torch.mul(large, 2.0),
        "exp 1e3": lambda: torch.exp(small),
        "exp 1e6": lambda: torch.exp(large),
        "sum 1e3": lambda: torch.sum(small),
        "sum 1e6": lambda: torch.sum(large),
        "softmax 1000x1000": lambda: torch.softmax(matrix, 1),
        "view": lambda: small.view(10, 100),
        "transpose": lambda: matrix.transpose(0, 1),
        "x[1:]": lambda: small[1:],
        "empty 1": lambda: torch.empty(1),
        "empty 1e3": lambda: torch.empty(1000),
        "empty 1e6": lambda: torch.empty(1000000),
    }


def median_microseconds(call: Callable[[], Any], seconds: float) -> float:
    """The median over repeats, each long enough for the clock."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    count = max(1, int(2e-4 / once))
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        for _ in range(count):
            call()
        times.append((time.perf_counter() - start) / count)
    return sorted(times)[len(times) // 2] * 1e6


def measure(library: str, seconds: float) -> dict[str, float]:
    """Times of all cases; a case that the library refuses is left out and named on stderr."""
    if library == "torch":
        import torch

        tensor = torch.from_numpy
    else:
        import shim_torch as torch

        tensor = torch.from_numpy
    found = {}
    for name, call in cases(torch, tensor).items():
        try:
            found[name] = median_microseconds(call, seconds)
        except (AttributeError, NotImplementedError, TypeError) as error:
            print(f"{library}: {name}: {error}", file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer-python", help="interpreter with PyTorch")
    parser.add_argument("--seconds", type=float, default=0.2, help="for each case")
    parser.add_argument("--measure", choices=["torch", "shim_torch"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.seconds)))
        return
    results = {}
    for library, python in (("shim_torch", sys.executable), ("torch", args.peer_python)):
        if python:
            command = [python, os.path.abspath(__file__), "--measure", library, "--seconds", str(args.seconds)]
            results[library] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    peer = results.get("torch", {})
    print(f"{'case':32}{'shim_torch us':>15}{'torch us':>12}{'ratio':>8}")
    for name, ours in results["shim_torch"].items():
        theirs = peer.get(name)
        print(f"{name:32}{ours:15.2f}" + (f"{theirs:12.2f}{ours / theirs:8.2f}" if theirs else ""))


if __name__ == "__main__":
    main()
