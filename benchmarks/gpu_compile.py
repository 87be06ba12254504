"""torch.compile on a GPU beside PyTorch's: ``gpu_compile.py --reference PYTHON [--rows NAME,...]``.

A line a way of running: microseconds of a call until its work has been done (calls are enqueued one after the other, and waited for
once), of that the host's part, what the host takes where it never waits for the device, seconds of the first five calls, the most
memory of the first and of those after it. Each library runs in a process of its own, one row after the other; a row that takes too
long is left out, and said to be.
"""

from __future__ import annotations

import argparse
import gc
import json
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpu_compile_rows import ROWS

ROOT = Path(__file__).resolve().parents[1]
BY_HAND = ("replay",)  # rows that are not compiled
WAYS = {"ours": ("eager", "default", "reduce-overhead"), "PyTorch": ("eager", "reduce-overhead")}


def timed(torch: Any, call: Callable[[], Any], calls: int) -> dict[str, float]:
    """Microseconds of a call as a whole, on the host, and on a host that does not wait for the device: of four calls."""
    wholes, hosts, alone = [], [], []
    for _ in range(25):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(4):
            call()
        alone.append((time.perf_counter() - start) / 4 * 1e6)
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        hosts.append((time.perf_counter() - start) / calls * 1e6)
        torch.cuda.synchronize()
        wholes.append((time.perf_counter() - start) / calls * 1e6)
    return {"whole": statistics.median(wholes), "host": statistics.median(hosts), "alone": statistics.median(alone)}


def measured(torch: Any, row: str, way: str) -> dict[str, Any]:
    """One way of one row."""
    make, calls = ROWS[row]
    torch.manual_seed(0)
    gc.collect()  # what the way before left in cycles is not this one's memory
    torch.cuda.reset_peak_memory_stats()
    work, after = make(torch)
    optimizer_step = after if callable(after) else None
    part = work if way == "eager" else torch.compile(work, mode=None if way == "default" else way)

    def call() -> Any:
        result = part()
        if optimizer_step is not None:
            optimizer_step()
        return result

    start, peak = time.perf_counter(), 0
    for i in range(5):
        call()
        if i == 0:  # which ours runs as it is
            peak = torch.cuda.max_memory_allocated() >> 20
            torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    first = time.perf_counter() - start
    found: dict[str, Any] = timed(torch, call, calls)
    found |= {"first": first, "first MiB": peak, "MiB": torch.cuda.max_memory_allocated() >> 20}
    result = call()
    found["value"] = float(result.float().sum())
    return found


def serve(library: str) -> None:
    """Rows and ways come in, figures go out, until the input ends."""
    if library == "ours":
        sys.path.insert(0, str(ROOT))
        import shim_torch as torch
        from shim_torch._impl.compile import calls
    else:
        import torch  # type: ignore[no-redef]
    torch.backends.cuda.matmul.allow_tf32 = True
    for line in sys.stdin:
        row, way = json.loads(line)
        found: dict[str, Any] = {}
        try:
            found = measured(torch, row, way)
        except Exception as e:
            found = {"failed": f"{type(e).__name__}: {e}"[:600]}
        if library == "ours" and way != "eager":
            found["status"] = [dict(calls.counts), dict(calls.graphs), [f"{k}: {n}" for k, n in calls.reasons.items()]]
            for counter in (calls.counts, calls.graphs, calls.reasons):
                counter.clear()
        print(json.dumps(found), flush=True)


class Server:
    """A library's process; started anew where one did not answer."""

    def __init__(self, library: str, python: str) -> None:
        self.library, self.python = library, python
        self.process: subprocess.Popen[str] | None = None

    def ask(self, row: str, way: str, seconds: float) -> dict[str, Any]:
        """The figures, or why there are none."""
        if self.process is None or self.process.poll() is not None:
            command = [self.python, __file__, "--serve", self.library]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin and self.process.stdout
        print(json.dumps([row, way]), file=self.process.stdin, flush=True)
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.process.kill()
            return {"failed": f"no answer within {seconds:.0f} s" if not ready else "the process ended"}
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", default=sys.executable)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--seconds", type=float, default=180, help="of all rows")
    parser.add_argument("--serve")
    given = parser.parse_args()
    if given.serve:
        return serve(given.serve)
    end = time.perf_counter() + given.seconds
    servers = {"ours": Server("ours", sys.executable), "PyTorch": Server("PyTorch", given.reference)}
    for row in given.rows.split(","):
        print(row, flush=True)
        for library, ways in WAYS.items():
            for way in ways[: 1 if row in BY_HAND else None]:
                left = end - time.perf_counter()
                if left < 5:
                    return print("    no time is left", flush=True)
                found = servers[library].ask(row, way, min(left, 60))
                status = found.pop("status", "")
                figures = "  ".join(f"{k} {v:.5g}" if isinstance(v, float) else f"{k} {v}" for k, v in found.items())
                print(f"    {library:8}{way:16}{figures}", flush=True)
                if status:
                    print(f"        {status}"[:1200], flush=True)
    return None


if __name__ == "__main__":
    main()
