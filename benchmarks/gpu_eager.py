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
import re
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
    """The side's torch, or CuPy; ours also for the kernel libraries."""
    sys.path.insert(0, str(HERE))
    if side == "peer":
        import torch

        return torch
    if side == "cupy":
        import cupy

        return cupy
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


class Clock:
    """Host and device time of a call, in microseconds, with torch's or CuPy's events."""

    def __init__(self, module: Any, cupy: bool) -> None:
        self.module, self.cupy = module, cupy
        if cupy:
            source = (
                'extern "C" __global__ void wait(long long n) { long long t = clock64(); while (clock64() - t < n); }'
            )
            self.kernel = module.RawKernel(source, "wait")

    def synchronize(self) -> None:
        self.module.cuda.Device().synchronize() if self.cupy else self.module.cuda.synchronize()

    def sleep(self, cycles: int) -> None:
        self.kernel((1,), (1,), (cycles,)) if self.cupy else self.module.cuda._sleep(cycles)

    def events(self) -> tuple[Any, Any]:
        make = self.module.cuda.Event
        return (make(), make()) if self.cupy else (make(enable_timing=True), make(enable_timing=True))

    def elapsed(self, start: Any, end: Any) -> float:
        end.synchronize()
        return self.module.cuda.get_elapsed_time(start, end) if self.cupy else start.elapsed_time(end)

    def host(self, call: Callable[[], Any], n: int, batches: int) -> float:
        times = []
        for _ in range(batches):
            self.synchronize()
            start = time.perf_counter()
            for _ in range(n):
                call()
            times.append((time.perf_counter() - start) / n * 1e6)
        self.synchronize()
        return statistics.median(times)

    def device(self, call: Callable[[], Any], n: int, batches: int, host: float) -> float:
        times = []
        for _ in range(batches):
            start, end = self.events()
            self.synchronize()
            # The queue is full before the first of them runs: no host time between them.
            self.sleep(max(4_000_000, int(3000 * n * host)))
            start.record()
            for _ in range(n):
                call()
            end.record()
            times.append(self.elapsed(start, end) * 1e3 / n)
        return statistics.median(times)


def estimated(clock: Clock, call: Callable[[], Any], n: int = 5) -> tuple[float, float]:
    """Seconds a call until it returns, and until it is done: of ``n`` calls after as many others."""
    for _ in range(n):
        call()
    clock.synchronize()
    start = time.perf_counter()
    for _ in range(n):
        call()
    returned = time.perf_counter()
    clock.synchronize()
    return (returned - start) / n, (time.perf_counter() - start) / n


def measured(clock: Clock, call: Callable[[], Any], device: bool) -> list[float | None]:
    _, each = estimated(clock, call)
    n = max(4, min(BATCH, int(0.01 / each)))
    batches = BATCHES if each < 1e-4 else 5
    host = clock.host(call, n, batches)
    return [host, clock.device(call, n, min(10, batches), min(host, 2000.0)) if device else None]


def worker(side: str, operators: bool, only: str) -> None:
    start = time.perf_counter()
    module = load(side)
    imported = time.perf_counter() - start
    import gpu_cases

    if side == "cupy":
        found: dict[str, Any] = {"version": module.__version__, "device": ""}
        calls = {name: (call, True) for name, call in gpu_cases.cupy_operators(module).items()}
    else:
        found = {"import": imported, "version": module.__version__, "device": module.cuda.get_device_name(0)}
        calls = (
            {name: (call, True) for name, call in gpu_cases.operators(module).items()} if operators else cases(module)
        )
    clock, results = Clock(module, side == "cupy"), {}
    for name, (call, device) in calls.items():
        if not re.search(only, name):
            continue
        try:
            results[name] = measured(clock, call, device)
        except Exception as error:
            results[name] = f"{type(error).__name__}: {error}"[:300]
    found["results"] = results
    print(json.dumps(found))


def run(side: str, operators: bool, only: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", side, "--only", only, *(["--operators"] if operators else [])]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ)
    sys.stderr.write(done.stderr[-2000:])
    if done.returncode:
        raise SystemExit(f"the {side} side failed:\n{done.stderr}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def median_of(rounds: list[dict[str, Any]], name: str, which: int) -> float | None:
    values = [r["results"].get(name, "") for r in rounds]
    if any(isinstance(v, str) or v[which] is None for v in values):
        return None
    return statistics.median(v[which] for v in values)


def table(sides: dict[str, list[dict[str, Any]]]) -> None:
    ours, peer = sides["ours"], sides["peer"]
    cupy = f" {'CuPy':>9}" if "cupy" in sides else ""
    print(f"\n{'':42} {'host':>8} {'PyTorch':>8}{cupy} {'ratio':>6}  {'device':>9} {'PyTorch':>9}{cupy} {'ratio':>6}")
    for name in ours[0]["results"]:
        cells = []
        for which, width in ((0, 8), (1, 9)):
            values = {side: median_of(rounds, name, which) for side, rounds in sides.items()}
            a, b = values["ours"], values["peer"]
            shown = [f"{v:{width if i < 2 else 9}.2f}" if v is not None else " " * (width if i < 2 else 9)
                     for i, v in enumerate(values.values())]  # fmt: skip
            cells.append(" ".join(shown) + f" {a / b if a and b else float('nan'):6.2f}")
        print(f"{name:42} {'  '.join(cells)}")
        for side in (ours[0], peer[0]):
            if isinstance(side["results"].get(name), str):
                print(f"    {side['version']}: {side['results'][name]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker")
    parser.add_argument("--operators", action="store_true", help="only those of gpu_cases.py")
    parser.add_argument("--base", action="store_true", help="only the short list")
    parser.add_argument("--only", default="", help="names that this pattern is found in; without CuPy")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker, options.operators, options.only)
    for operators in (False, True):
        if (options.base and operators) or (options.operators and not operators):
            continue
        names = ["ours", "peer", "cupy"] if operators and not options.only else ["ours", "peer"]
        sides: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in names:
                sides[name].append(run(name, operators, options.only))
        versions = ", ".join(f"{name} {rounds[0]['version']}" for name, rounds in sides.items())
        print(f"{sides['ours'][0]['device']}, Python {platform.python_version()}, {versions}")
        print(f"{time.strftime('%Y-%m-%d')}, medians of {options.rounds} rounds, microseconds")
        table(sides)
        print()


if __name__ == "__main__":
    main()
