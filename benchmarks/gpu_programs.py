"""All calls of gpu_cases*.py, gpu_seldom.py ("s:") and gpu_eager.py ("b:") on one GPU: microseconds a call on the device.

``python benchmarks/gpu_programs.py measure peer a.json`` where PyTorch is, ``... measure ours b.json`` in this tree (both may run at
once, each on a GPU of its own), and ``... show b.json a.json``. A pattern at the end chooses calls by their names.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu_eager
import gpu_seldom


def cases(torch: Any) -> dict[str, Callable[[], Any]]:
    import gpu_cases

    return {
        **gpu_cases.operators(torch),
        **{f"s:{name}": call for name, call in gpu_seldom.cases(torch).items()},
        **{f"b:{name}": call for name, (call, _) in gpu_eager.cases(torch).items()},
    }


def device_time(clock: gpu_eager.Clock, call: Callable[[], Any]) -> float:
    """Median of 5 batches of at most 40 calls, all of them enqueued before the first runs."""
    host, each = gpu_eager.estimated(clock, call, 3)
    return clock.device(call, max(3, min(40, int(0.006 / each))), 5, min(host * 1e6, 2000.0))


def measure(side: str, file: str, only: str = "") -> None:
    """Goes on behind what the file has: a call that ended the process is told by its name, and the others can be measured."""
    torch, path = gpu_eager.load(side), Path(file)
    clock = gpu_eager.Clock(torch, False)
    about: dict[str, Any] = {"version": torch.__version__, "device": torch.cuda.get_device_name(0), "calls": {}}
    if path.exists():
        about = json.loads(path.read_text(encoding="utf-8"))
    found = about["calls"]
    for name, call in cases(torch).items():
        if name in found or not re.search(only, name):
            continue
        found[name] = "the process ended"
        path.write_text(json.dumps(about), encoding="utf-8")
        try:
            with torch.enable_grad() if "bwd" in name or not name.startswith("s:") else torch.no_grad():
                found[name] = device_time(clock, call)
        except Exception as error:  # shown in place of its time
            found[name] = f"{type(error).__name__}: {error}"[:200]
    path.write_text(json.dumps(about), encoding="utf-8")


def show(mine: str, peer: str, only: str = "") -> None:
    """The calls from the slowest beside the peer's on, and how many are above which ratio."""
    a, b = (json.loads(Path(file).read_text(encoding="utf-8")) for file in (mine, peer))
    both = {n: (t, b["calls"].get(n, "not run")) for n, t in a["calls"].items() if re.search(only, n)}
    ratios = {n: t / o for n, (t, o) in both.items() if not isinstance(t, str) and not isinstance(o, str)}
    print(f"{a['device']}, ours {a['version']}, peer {b['version']}: {len(ratios)} calls on both sides")
    above = {bound: sum(r > bound for r in ratios.values()) for bound in (1.1, 1.25, 2)}
    print(f"geometric mean of the ratios {statistics.geometric_mean(ratios.values()):.3f}; above", above)
    print(f"\n{'':48}{'device':>12}{'PyTorch':>12}{'ratio':>8}")
    for name in sorted(ratios, key=lambda n: -ratios[n]):
        print(f"{name:48}{both[name][0]:12.2f}{both[name][1]:12.2f}{ratios[name]:8.2f}")
    for name in both.keys() - ratios.keys():
        print(f"{name:48} ours: {both[name][0]}; PyTorch: {both[name][1]}")


if __name__ == "__main__":
    {"measure": measure, "show": show}[sys.argv[1]](*sys.argv[2:])
