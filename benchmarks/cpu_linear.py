"""Linear on the CPU against PyTorch and NumPy's own product, in turns of one run, float32 on the same random data.

    python benchmarks/cpu_linear.py --torch-python /path/to/python/with/torch [--rounds 5]

Each round runs the three in interpreters of their own, one after the other; printed are the medians of the rounds' medians and,
as the spread, the least and the largest of them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHAPES = ((1, 768, 3072), (16, 1024, 4096), (128, 4096, 4096))  # rows, in, out


def median_ms(call: Callable[[], Any], budget: float = 1.0) -> float:
    """Median milliseconds of a call, over about ``budget`` seconds and at least seven calls."""
    call()
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < 7 or (time.perf_counter() < end and len(times) < 300):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def measure(which: str) -> dict[str, float]:
    """Milliseconds by name, of one of ``numpy``, ``torch`` or ``ours``."""
    import numpy as np

    found: dict[str, float] = {}
    rng = np.random.default_rng(0)
    for m, k, n in SHAPES:
        x, w, b, g = (rng.standard_normal(s).astype(np.float32) for s in ((m, k), (n, k), (n,), (m, n)))
        name = f"{m}x{k}x{n}"
        if which == "numpy":
            found[f"forward {name}"] = median_ms(lambda x=x, w=w: x @ w.T)
            found[f"fwd+bwd {name}"] = median_ms(lambda x=x, w=w, g=g: (x @ w.T, g @ w, g.T @ x))
            continue
        if which == "torch":
            import torch
        else:
            import shim_torch as torch
        tx, tw, tb, tg = map(torch.from_numpy, (x, w, b, g))
        linear = torch.nn.functional.linear
        found[f"forward {name}"] = median_ms(lambda f=linear, a=(tx, tw, tb): f(*a))
        leaves = [t.requires_grad_() for t in (tx, tw, tb)]

        def both(f: Any = linear, leaves: Any = leaves, tg: Any = tg) -> None:
            f(*leaves).backward(tg)
            for t in leaves:
                t.grad = None

        found[f"fwd+bwd {name}"] = median_ms(both)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True, help="a Python that has PyTorch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    found: dict[str, list[dict[str, float]]] = {"numpy": [], "torch": [], "ours": []}
    for _ in range(options.rounds):
        for which, results in found.items():
            python = options.torch_python if which == "torch" else sys.executable
            command = [python, __file__, "--torch-python", "-", "--measure", which]
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            results.append(
                json.loads(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)
            )
    print(f"milliseconds, float32, {os.cpu_count()} processors, {options.rounds} rounds: median (least-largest)")
    print(f"{'':26}{'NumPy products':>26}{'PyTorch':>26}{'ours':>26}{'PyTorch / ours':>16}")
    for name in found["ours"][0]:
        values = {which: [r[name] for r in results] for which, results in found.items()}
        middle = {which: statistics.median(v) for which, v in values.items()}
        cells = "".join(f"{f'{middle[w]:.3f} ({min(v):.3f}-{max(v):.3f})':>26}" for w, v in values.items())
        print(f"{name:26}{cells}{middle['torch'] / middle['ours']:>15.2f}x")


if __name__ == "__main__":
    main()
