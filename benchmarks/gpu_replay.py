"""A replay of a CUDA graph beside the driver's own call on a GPU: ``python gpu_replay.py ours|peer [cupy]``, nanoseconds on the host.

Graphs of 1, 2 and 20 small kernels, on the default stream and on another, 4 and 100 replays in a row; ``cupy`` imports CuPy first.
The driver's cuGraphLaunch is called in a loop of C, which needs gcc.
"""

from __future__ import annotations

import ctypes
import importlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu_eager

BATCHES = 40
LOOP = """
#include <time.h>
double loop(int (*launch)(void *, void *), void *graph, void *stream, int n) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < n; i++) launch(graph, stream);
  clock_gettime(CLOCK_MONOTONIC, &b);
  return ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / n;
}
"""


def driver_loop() -> Callable[[int, int, int], float]:
    """(graph, stream, calls) -> nanoseconds of a cuGraphLaunch."""
    folder = Path(tempfile.mkdtemp())
    (folder / "loop.c").write_text(LOOP)
    library = folder / "loop.so"
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, folder / "loop.c"], check=True)
    loop = ctypes.CDLL(str(library)).loop
    loop.restype = ctypes.c_double
    launch = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuGraphLaunch, ctypes.c_void_p)
    return lambda graph, stream, n: loop(launch, ctypes.c_void_p(graph), ctypes.c_void_p(stream), n)


def captured(torch: Any, kernels: int) -> Any:
    x = torch.ones(1024, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        x.add_(1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(kernels):
            x.add_(1)
    graph.kept = x
    return graph


def main(side: str, *options: str) -> None:
    torch = gpu_eager.load(side)
    if "cupy" in options:
        importlib.import_module("cupy").ones(3)
    driver = driver_loop() if side == "ours" else None

    def median(batch: Callable[..., float], *given: Any) -> float:
        found = []
        for _ in range(BATCHES):
            torch.cuda.synchronize()
            found.append(batch(*given))
        return statistics.median(found)

    def replays(graph: Any, n: int) -> float:
        replay = graph.replay
        begin = time.perf_counter()
        for _ in range(n):
            replay()
        return (time.perf_counter() - begin) / n * 1e9

    for kernels in (1, 2, 20):
        graph, stream = captured(torch, kernels), torch.cuda.Stream()
        for n in (4, 100):
            figures = {"replay": median(replays, graph, n)}
            with torch.cuda.stream(stream):
                figures["on a stream"] = median(replays, graph, n)
            if driver is not None:
                figures["cuGraphLaunch"] = median(driver, graph._exec, 0, n)
                figures["on a stream "] = median(driver, graph._exec, stream.cuda_stream, n)
            text = ", ".join(f"{name.strip()} {ns:.0f}" for name, ns in figures.items())
            print(f"{side} {' '.join(options)} {kernels} kernels, {n} in a row: {text}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
