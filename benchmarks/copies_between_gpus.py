"""Copies from one GPU to another in one process: shim_torch against PyTorch, in turns, on two GPUs.

    python benchmarks/copies_between_gpus.py

GB/s between two events around ten copies into memory that is there, best of the rounds; and microseconds until a copy of 4 KiB returns.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SIZES = {"1 MiB": 1 << 20, "64 MiB": 1 << 26, "1 GiB": 1 << 30}


def bandwidth(torch: Any, size: int, source: str, target: str) -> float:
    """GB/s of ten copies on the source's stream."""
    a = torch.ones(size, dtype=torch.uint8, device=source)
    b = torch.zeros(size, dtype=torch.uint8, device=target)
    for _ in range(3):
        b.copy_(a, non_blocking=True)
    best = 0.0
    with torch.cuda.device(a.device):
        for _ in range(5):
            torch.cuda.synchronize(0)
            torch.cuda.synchronize(1)
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(10):
                b.copy_(a, non_blocking=True)
            end.record()
            end.synchronize()
            best = max(best, 10 * size / start.elapsed_time(end) / 1e6)
    assert int(b[-1]) == 1 and int(b[0]) == 1
    return best


def enqueued(torch: Any) -> float:
    """Microseconds until a small copy returns."""
    a, b = torch.ones(1024, device="cuda:0"), torch.zeros(1024, device="cuda:1")
    best = 1e9
    for _ in range(20):
        torch.cuda.synchronize(0)
        torch.cuda.synchronize(1)
        start = time.perf_counter()
        for _ in range(50):
            b.copy_(a, non_blocking=True)
        best = min(best, (time.perf_counter() - start) / 50 * 1e6)
    return best


def measure(side: str) -> dict[str, float]:
    """All figures of one side."""
    if side == "peer":
        import torch
    else:
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
        import shim_torch as torch
    found = {}
    for name, size in SIZES.items():
        found[f"{name} 0 -> 1, GB/s"] = bandwidth(torch, size, "cuda:0", "cuda:1")
        found[f"{name} 1 -> 0, GB/s"] = bandwidth(torch, size, "cuda:1", "cuda:0")
    found["4 KiB until it returns, us"] = enqueued(torch)
    return found


def main() -> None:
    """Prints a table of both sides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", choices=("ours", "peer"))
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    if given.side:
        print(json.dumps(measure(given.side)))
        return
    best: dict[str, dict[str, float]] = {"ours": {}, "peer": {}}
    for _ in range(given.rounds):
        for side, kept in best.items():
            done = subprocess.run(
                [sys.executable, __file__, "--side", side], capture_output=True, text=True, check=True
            )
            for name, value in json.loads(done.stdout.splitlines()[-1]).items():
                choose = min if name.endswith("us") else max
                kept[name] = choose(kept.get(name, value), value)
    for name, value in best["ours"].items():
        print(
            f"{name:28} ours {value:8.1f}   PyTorch {best['peer'][name]:8.1f}   ratio {value / best['peer'][name]:.3f}"
        )


if __name__ == "__main__":
    main()
