"""Eager CUDA operators, Triton launches and a Liger RMSNorm: shim_torch against PyTorch, in one run, on random data.

    python benchmarks/gpu_eager.py                # both sides in interpreters of their own, in turns
    python benchmarks/gpu_eager.py --rounds 5

Host: microseconds until the call returns (the enqueue), median of batches short enough not to fill the launch queue.
Device: microseconds a call between two events around many calls, median. Below 1.00 in the ratio shim_torch is faster.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BATCH, BATCHES = 100, 30


def load(side: str) -> Any:
    """The side's torch; ours also for the kernel libraries."""
    sys.path.insert(0, str(HERE))
    if side == "peer":
        import torch

        return torch
    sys.path.insert(0, str(HERE.parent))
    from compat import enable_torch_proxy

    enable_torch_proxy(scope={"gpu_kernels", "liger_kernel"})
    import shim_torch

    return shim_torch


def cases(torch: Any) -> dict[str, tuple[Callable[[], Any], bool]]:
    """name -> (call, whether its device time is worth measuring)."""
    import gpu_kernels as kernels

    small = [torch.randn(1024, device="cuda") for _ in range(3)]
    large = [torch.randn(1 << 26, device="cuda") for _ in range(2)]
    half = [t.bfloat16() for t in large]
    matrix = torch.randn(4096, 4096, device="cuda")
    found = {
        "empty 1024": (lambda: torch.empty(1024, device="cuda"), False),
        "empty_like": (lambda: torch.empty_like(small[0]), False),
        "view": (lambda: small[0].view(32, 32), False),
        "add 1024": (lambda: small[0] + small[1], True),
        "mul by number 1024": (lambda: small[0] * 2.0, True),
        "add float32 2^26": (lambda: large[0] + large[1], True),
        "add bfloat16 2^26": (lambda: half[0] + half[1], True),
        "exp float32 2^26": (lambda: torch.exp(large[0]), True),
        "sum float32 2^26": (lambda: large[0].sum(), True),
        "softmax 4096x4096": (lambda: torch.softmax(matrix, -1), True),
        "Triton launch, tuple grid": (lambda: kernels.launch(*small), True),
        "Triton launch, lambda grid": (lambda: kernels.launch_lambda(*small), True),
    }
    return {**found, **liger(torch)}


def liger(torch: Any) -> dict[str, tuple[Callable[[], Any], bool]]:
    try:
        from liger_kernel.transformers.functional import liger_rms_norm
    except ImportError as error:
        print(f"no Liger here: {error}", file=sys.stderr)
        return {}
    found = {}
    for rows, columns in ((16, 1024), (2048, 4096)):
        x = torch.randn(rows, columns, device="cuda").bfloat16().requires_grad_()
        w = torch.randn(columns, device="cuda").bfloat16().requires_grad_()
        g = torch.randn(rows, columns, device="cuda").bfloat16()

        def forward(x: Any = x, w: Any = w) -> Any:
            return liger_rms_norm(x, w, 1e-6, in_place=False)

        def both(x: Any = x, w: Any = w, g: Any = g) -> Any:
            x.grad = w.grad = None
            liger_rms_norm(x, w, 1e-6, in_place=False).backward(g)

        found[f"Liger RMSNorm fwd {rows}x{columns}"] = (forward, True)
        found[f"Liger RMSNorm fwd+bwd {rows}x{columns}"] = (both, True)
    return found


def host_time(torch: Any, call: Callable[[], Any], n: int = BATCH) -> float:
    times = []
    for _ in range(BATCHES):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            call()
        times.append((time.perf_counter() - start) / n * 1e6)
    torch.cuda.synchronize()
    return statistics.median(times)


def device_time(torch: Any, call: Callable[[], Any], n: int = BATCH) -> float:
    times = []
    for _ in range(10):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        torch.cuda._sleep(4_000_000)  # the queue is full before the first of them runs: no host time between them
        start.record()
        for _ in range(n):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / n)
    return statistics.median(times)


def worker(side: str) -> None:
    start = time.perf_counter()
    torch = load(side)
    imported = time.perf_counter() - start
    found: dict[str, Any] = {"import": imported, "version": torch.__version__, "device": torch.cuda.get_device_name(0)}
    results = {}
    for name, (call, device) in cases(torch).items():
        try:
            for _ in range(10):
                call()
            torch.cuda.synchronize()
            many = "2^26" in name or "x4096" in name
            results[name] = [
                host_time(torch, call, 10 if many else BATCH),
                device_time(torch, call, 10 if many else BATCH) if device else None,
            ]
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"[:300]
    found["results"] = results
    print(json.dumps(found))


def run(side: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, "--worker", side], capture_output=True, text=True, env=os.environ)
    sys.stderr.write(done.stderr[-2000:])
    if done.returncode:
        raise SystemExit(f"the {side} side failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def median_of(rounds: list[dict[str, Any]], name: str, which: int) -> float | None:
    values = [r["results"][name] for r in rounds]
    if any(isinstance(v, str) or v[which] is None for v in values):
        return None
    return statistics.median(v[which] for v in values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker)
    ours, peer = [], []
    for _ in range(options.rounds):
        ours.append(run("ours"))
        peer.append(run("peer"))
    print(
        f"{ours[0]['device']}, Python {platform.python_version()}, shim_torch {ours[0]['version']}, PyTorch {peer[0]['version']}"
    )
    print(f"{time.strftime('%Y-%m-%d')}, medians of {options.rounds} rounds, microseconds\n")
    print(f"{'':38} {'host':>8} {'PyTorch':>8} {'ratio':>6}  {'device':>9} {'PyTorch':>9} {'ratio':>6}")
    for name in ours[0]["results"]:
        cells = []
        for which, width in ((0, 8), (1, 9)):
            a, b = median_of(ours, name, which), median_of(peer, name, which)
            shown = [f"{v:{width}.2f}" if v is not None else " " * width for v in (a, b)]
            cells.append(f"{shown[0]} {shown[1]} {a / b if a and b else float('nan'):6.2f}")
        print(f"{name:38} {'  '.join(cells)}")
        for side in (ours[0], peer[0]):
            if isinstance(side["results"][name], str):
                print(f"    {side['version']}: {side['results'][name]}")


if __name__ == "__main__":
    main()
