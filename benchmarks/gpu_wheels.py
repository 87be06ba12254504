"""Compiled operators of stock wheels on a GPU: the same shared objects under shim_torch and under PyTorch, in one run.

    python benchmarks/gpu_wheels.py WHEELS [--only TEXT] [--rounds 3] [--seconds 300]

WHEELS is a folder with the unzipped wheels (``vllm``, ``fa3_fwd``, ``flash_mla``). Each library has an interpreter of
its own; they take turns, on the same random numbers. Bits: whether all results are the same bytes. Error: the largest
difference to float64, as a part of the largest value (ours; PyTorch's where it differs). Host: microseconds until the
call returns. Device: microseconds a call between two events around many calls that were queued before. Medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SIDES = ("ours", "peer")
SCOPE = {"flash_mla", "fa3_fwd_interface", "fa3_fwd", "fa3_fwd_config", "deep_gemm"}


def all_cases() -> dict[str, Any]:
    import wheel_cases
    import wheel_cases_large
    import wheel_cases_moe
    import wheel_cases_more

    return {**wheel_cases.CASES, **wheel_cases_moe.CASES, **wheel_cases_large.CASES, **wheel_cases_more.CASES}


# --- the child: one library, commands on standard input ---------------------------------------------------------------


def load(side: str) -> Any:
    if side == "peer":
        import torch

        return torch
    sys.path.insert(0, str(HERE.parent))
    from compat import enable_torch_proxy

    enable_torch_proxy(scope=SCOPE)
    import shim_torch

    return shim_torch


def values(torch: Any, case: Any, stem: str) -> dict[str, Any]:
    """Saves the results of a case as bytes; their dtypes, and the error of each against the reference."""
    import numpy as np

    found = list(case.outputs())
    torch.cuda.synchronize()
    for i, t in enumerate(found):
        np.save(f"{stem}-{i}.npy", t.contiguous().view(-1).view(torch.uint8).cpu().numpy())
    answer: dict[str, Any] = {"dtypes": [str(t.dtype) for t in found], "errors": None}
    if case.reference is not None:
        errors = []
        for t, right in zip(found, case.reference(), strict=False):
            largest = float(right.abs().max().item())
            errors.append(float((t.double() - right).abs().max().item()) / (largest or 1.0))
        answer["errors"] = errors
    return answer


def host_time(torch: Any, call: Callable[[], Any], n: int, batches: int = 20) -> float:
    times = []
    for _ in range(batches):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            call()
        times.append((time.perf_counter() - start) / n * 1e6)
    torch.cuda.synchronize()
    return statistics.median(times)


def device_time(torch: Any, call: Callable[[], Any], n: int, host: float) -> float:
    times = []
    for _ in range(7):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        torch.cuda._sleep(int(max(1_000_000, n * host * 2500)))  # all calls are queued before the first of them runs
        start.record()
        for _ in range(n):
            call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / n)
    return statistics.median(times)


def timed(torch: Any, case: Any) -> dict[str, float]:
    for _ in range(3):
        case.call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(5):
        case.call()
    torch.cuda.synchronize()
    n = max(3, min(60, int(3e-3 / ((time.perf_counter() - start) / 5))))
    host = host_time(torch, case.call, n)
    return {"host": host, "device": device_time(torch, case.call, n, host)}


def child(side: str, wheels: Path) -> None:
    """Answers a line for each command; what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path[:0] = [str(HERE), str(wheels)]
    torch = load(side)
    from wheel_cases import Maker

    torch.cuda.init()
    cases, name, case = all_cases(), None, None
    print(json.dumps({"version": torch.__version__, "device": torch.cuda.get_device_name(0)}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            if command["name"] != name:
                name, case = command["name"], None
                case = cases[name](Maker(torch, wheels, name))
            answer = values(torch, case, command["stem"]) if "stem" in command else timed(torch, case)
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"[:400]}
        print(json.dumps(answer), file=answers, flush=True)


# --- the parent ---------------------------------------------------------------------------------------------------------


class Side:
    """A child that is started again after a failure: a CUDA error stays with its process."""

    def __init__(self, side: str, wheels: Path, timeout: float = 150) -> None:
        self.side, self.wheels, self.timeout = side, wheels, timeout
        self.start()

    def start(self) -> None:
        command = [sys.executable, __file__, str(self.wheels), "--child", self.side]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.about = self.answer()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], self.timeout)[0]:
            return {"failed": f"no answer in {self.timeout} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"failed": f"the process ended with status {self.process.wait()}"}

    def send(self, **command: Any) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def ask(self, **command: Any) -> dict[str, Any]:
        self.send(**command)
        return self.receive()

    def receive(self) -> dict[str, Any]:
        found = self.answer()
        if "failed" in found:
            self.close()
            self.start()
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def warm(names: list[str], wheels: Path, folder: str) -> None:
    """Lets the kernels that are compiled when first called be compiled at once, into the caches of nvcc's and the driver's
    users: one process a case."""
    sides = [Side("ours", wheels, 280) for _ in names]
    for side, name in zip(sides, names, strict=True):
        side.send(name=name, stem=f"{folder}/warm-{os.urandom(4).hex()}")
    for side, name in zip(sides, names, strict=True):
        found = side.answer()
        if "failed" in found:
            print(f"warming {name}: {found['failed']}", file=sys.stderr)
        side.close()


def same_bytes(folder: str, count: int) -> bool:
    import numpy as np

    pairs = [[np.load(f"{folder}/{side}-{i}.npy") for side in SIDES] for i in range(count)]
    return all(np.array_equal(a, b) for a, b in pairs)


def measure(name: str, sides: dict[str, Side], rounds: int, folder: str) -> dict[str, Any]:
    """{"same": bool or None, side: {"failed": text} or {"errors", "host", "device"}}"""
    for s, side in sides.items():
        side.send(name=name, stem=f"{folder}/{s}")
    found: dict[str, Any] = {s: side.receive() for s, side in sides.items()}
    works = [s for s in sides if "failed" not in found[s]]
    found["same"] = same_bytes(folder, len(found["ours"]["dtypes"])) if len(works) == len(SIDES) else None
    times: dict[str, list[dict[str, Any]]] = {s: [] for s in works}
    for _ in range(rounds):
        for s in works:
            if not times[s] or "failed" not in times[s][-1]:
                times[s].append(sides[s].ask(name=name))
    for s in works:
        good = [t for t in times[s] if "failed" not in t]
        for key in ("host", "device"):
            found[s][key] = statistics.median(t[key] for t in good) if good else None
        if len(good) < len(times[s]):
            found[s]["failed"] = times[s][-1]["failed"]
    return found


def row(name: str, found: dict[str, Any]) -> str:
    ours, peer = (found.get(s, {}) for s in SIDES)
    errors = [max(s["errors"]) if s.get("errors") else None for s in (ours, peer)]
    shown = "-" if errors[0] is None else f"{errors[0]:.1e}"
    if None not in errors and errors[0] != errors[1]:
        shown += f" ({errors[1]:.1e})"
    text = f"{name:38} {({True: 'same', False: 'differ', None: '-'})[found['same']]:>7} {shown:>17}"
    for key in ("host", "device"):
        a, b = ours.get(key), peer.get(key)
        text += "  " + " ".join(f"{v:9.2f}" if v is not None else f"{'-':>9}" for v in (a, b))
        text += f" {a / b:6.2f}" if a and b else f" {'-':>6}"
    for s, side in zip(SIDES, (ours, peer), strict=True):
        if "failed" in side:
            text += f"\n    {s}: {side['failed']}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=600, help="begin no case after that")
    parser.add_argument("--warmed", action="store_true", help="what is compiled at run time is in the caches already")
    parser.add_argument("--json", type=Path, help="also write all figures there")
    parser.add_argument("--child", choices=SIDES)
    options = parser.parse_args()
    wheels = options.wheels.resolve()
    if options.child:
        return child(options.child, wheels)
    begin = time.perf_counter()
    sys.path.insert(0, str(HERE))
    names = [n for n in all_cases() if options.only in n]
    with tempfile.TemporaryDirectory() as folder:
        if not options.warmed:
            warm([n for n in names if n.startswith(("DeepGEMM", "vLLM FA2"))], wheels, folder)
        sides = {s: Side(s, wheels) for s in SIDES}
        about = {s: side.about for s, side in sides.items()}
        print(
            f"{about['ours'].get('device')}, Python {platform.python_version()}, shim_torch {about['ours'].get('version')}, "
            f"PyTorch {about['peer'].get('version')}; {time.strftime('%Y-%m-%d')}, medians of {options.rounds} rounds, us"
        )
        print(
            f"{'':38} {'bits':>7} {'error':>17}  {'host':>9} {'PyTorch':>9} {'ratio':>6}  {'device':>9} {'PyTorch':>9} {'ratio':>6}"
        )
        everything = {}
        for name in names:
            if time.perf_counter() - begin > options.seconds:
                print(f"{name:38} not run: out of time")
                continue
            everything[name] = measure(name, sides, options.rounds, folder)
            print(row(name, everything[name]), flush=True)
        for side in sides.values():
            side.close()
    if options.json:
        options.json.write_text(json.dumps({"about": about, "cases": everything}, indent=1))


if __name__ == "__main__":
    main()
