"""Linear on a GPU against PyTorch in one process, on the same data: host time to enqueue, and device time, apart.

    python benchmarks/gpu_linear.py              # everything, about four minutes on an H200
    python benchmarks/gpu_linear.py --quick      # two row counts, two weights
    python benchmarks/gpu_linear.py --only host|device|fused

PyTorch is imported under its own name, ours as shim_torch; memory is shared by DLPack, calls alternate, inputs are normal random
numbers, times are medians and the spread is that of the middle half. Ratios are PyTorch's time over ours: above 1 ours is faster.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch as peer

import shim_torch as ours
from shim_torch._impl.native import _core
from shim_torch_linear import fused_linear

ROWS = (1, 16, 128, 2048, 8192)
WEIGHTS = ((768, 3072), (1024, 4096), (4096, 4096), (8192, 8192), (4096, 16384))  # (in, out)
DTYPES = ("float16", "bfloat16", "float32", "tf32")
HOST_SHAPES = ((1, 768, 3072), (16, 1024, 4096), (128, 768, 3072))

Call = Callable[[], Any]


def shared(t: Any) -> Any:
    return ours.from_dlpack(t)


def data(m: int, k: int, n: int, dtype: str) -> dict[str, Any]:
    kind = getattr(peer, "float32" if dtype == "tf32" else dtype)
    peer.manual_seed(0)
    make = {"x": (m, k), "w": (n, k), "b": (n,), "g": (m, n)}
    return {name: peer.randn(*shape, device="cuda").to(kind) for name, shape in make.items()}


def set_tf32(on: bool) -> None:
    peer.backends.cuda.matmul.allow_tf32 = on
    ours.backends.cuda.matmul.allow_tf32 = on


def spread(values: list[float]) -> float:
    """Half the width of the middle half, relative to the median."""
    v = sorted(values)
    return (v[3 * len(v) // 4] - v[len(v) // 4]) / 2 / statistics.median(v)


# --- host time -------------------------------------------------------------------------------------------------------------


def enqueue_time(calls: dict[str, Call], batches: int = 30, each: int = 40) -> dict[str, list[float]]:
    """Microseconds of host time a call, alternating, the device idle at the start of each batch."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        for _ in range(20):
            call()
    for _ in range(batches):
        for name, call in calls.items():
            peer.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(each):
                call()
            found[name].append((time.perf_counter() - start) / each * 1e6)
    peer.cuda.synchronize()
    return found


def host() -> None:
    print("\nhost microseconds to enqueue (median ± middle half)")
    print(f"{'':34}{'PyTorch':>18}{'PyTorch, 1 thread':>20}{'ours':>18}{'ratio to the better':>21}")
    for m, k, n in HOST_SHAPES:
        for dtype in ("float16", "float32"):
            p = data(m, k, n, dtype)
            q = {name: shared(t) for name, t in p.items()}
            report(f"forward {m}x{k}x{n} {dtype}", enqueue_time({
                "peer": lambda p=p: peer.nn.functional.linear(p["x"], p["w"], p["b"]),
                "ours": lambda q=q: ours.nn.functional.linear(q["x"], q["w"], q["b"]),
            }))  # fmt: skip
            leaves = [p[name].detach().requires_grad_() for name in "xwb"]
            mine = [q[name].detach().requires_grad_() for name in "xwb"]

            def both_peer(p: dict[str, Any] = p, leaves: list[Any] = leaves) -> None:
                peer.nn.functional.linear(*leaves).backward(p["g"])
                for t in leaves:
                    t.grad = None

            def both_single(both: Call = both_peer) -> None:
                with peer.autograd.set_multithreading_enabled(False):
                    both()

            def both_ours(q: dict[str, Any] = q, mine: list[Any] = mine) -> None:
                ours.nn.functional.linear(*mine).backward(q["g"])
                for t in mine:
                    t.grad = None

            report(
                f"fwd+bwd {m}x{k}x{n} {dtype}",
                enqueue_time({"peer": both_peer, "single": both_single, "ours": both_ours}),
            )


def report(name: str, times: dict[str, list[float]]) -> None:
    def cell(key: str) -> str:
        return f"{statistics.median(times[key]):.1f} ±{spread(times[key]) * 100:.0f}%" if key in times else ""

    better = min(statistics.median(v) for key, v in times.items() if key != "ours")
    print(
        f"{name:34}{cell('peer'):>18}{cell('single'):>20}{cell('ours'):>18}{better / statistics.median(times['ours']):>20.2f}x"
    )


# --- device time -----------------------------------------------------------------------------------------------------------


def device_time(calls: dict[str, Call], rounds: int = 15) -> dict[str, list[float]]:
    """Microseconds between events around a call: caches flushed before it, the host far ahead of the device, order alternating."""
    flush = peer.empty(96 << 20, dtype=peer.uint8, device="cuda")
    names = list(calls)
    for call in calls.values():
        for _ in range(4):  # the third use of a problem measures its algorithms
            call()
    peer.cuda.synchronize()
    start = time.perf_counter()
    for call in calls.values():
        call()
    peer.cuda.synchronize()
    if time.perf_counter() - start > 4e-3:  # long ones vary little
        rounds = max(rounds // 2, 5)
    found: dict[str, list[float]] = {name: [] for name in names}
    more_rounds(calls, names, flush, rounds, found)
    if max(map(statistics.median, found.values())) < 100:  # short ones are cheap to repeat, and need it
        more_rounds(calls, names, flush, 2 * rounds, found)
    return found


def more_rounds(
    calls: dict[str, Call], names: list[str], flush: Any, rounds: int, found: dict[str, list[float]]
) -> None:
    marks: list[tuple[str, Any, Any]] = []
    for i in range(rounds):
        if i % 5 == 0:
            peer.cuda.synchronize()
            peer.cuda._sleep(2_000_000)
        for name in names if i % 2 else reversed(names):
            flush.zero_()
            begin, end = peer.cuda.Event(enable_timing=True), peer.cuda.Event(enable_timing=True)
            begin.record()
            calls[name]()
            end.record()
            marks.append((name, begin, end))
    peer.cuda.synchronize()
    for name, begin, end in marks:
        found[name].append(begin.elapsed_time(end) * 1e3)


def compared(a: Call, b: Call) -> tuple[float, float, float]:
    """PyTorch's and our median microseconds and our spread; a ratio below 0.97 is measured again, all rounds counting."""
    t = device_time({"peer": a, "ours": b})
    for _ in range(2):
        if statistics.median(t["peer"]) / statistics.median(t["ours"]) >= 0.97:
            break
        for name, times in device_time({"peer": a, "ours": b}).items():
            t[name] += times
    return statistics.median(t["peer"]), statistics.median(t["ours"]), spread(t["ours"])


def device(rows: tuple[int, ...], weights: tuple[tuple[int, int], ...]) -> None:
    backward_input = _core.function("shim::linear_backward_input")
    backward_weight = _core.function("shim::linear_backward_weight")
    backward_bias = _core.function("shim::linear_backward_bias")
    ratios: list[tuple[float, str]] = []
    print("\ndevice microseconds: PyTorch / ours (ratio)")
    print(f"{'':30}{'forward':>26}{'dX':>26}{'dW':>26}{'db':>26}")
    for dtype in DTYPES:
        set_tf32(dtype == "tf32")
        for k, n in weights:
            for m in rows:
                p = data(m, k, n, dtype)
                q = {name: shared(t) for name, t in p.items()}
                pairs: dict[str, tuple[Call, Call]] = {
                    "forward": (lambda p=p: peer.nn.functional.linear(p["x"], p["w"], p["b"]),
                                lambda q=q: ours.nn.functional.linear(q["x"], q["w"], q["b"])),
                    "dX": (lambda p=p: p["g"].mm(p["w"]), lambda q=q: backward_input(q["g"], q["w"])),
                    "dW": (lambda p=p: p["g"].t().mm(p["x"]), lambda q=q: backward_weight(q["g"], q["x"], False)),
                    "db": (lambda p=p: p["g"].sum(0), lambda q=q: backward_bias(q["g"])),
                }  # fmt: skip
                cells = []
                for what, (a, b) in pairs.items():
                    other, mine, width = compared(a, b)
                    name = f"{what} {m}x{k}x{n} {dtype} {other:.1f}/{mine:.1f} ±{width * 100:.0f}%"
                    ratios.append((other / mine, name))
                    cells.append(f"{other:9.1f} /{mine:9.1f} ({other / mine:.2f})")
                print(f"{f'{m}x{k}x{n} {dtype}':30}" + "".join(f"{c:>26}" for c in cells), flush=True)
                del p, q, pairs, a, b
    set_tf32(False)
    mean = math.exp(statistics.fmean(math.log(r) for r, _ in ratios))
    print(f"\ngeometric mean of {len(ratios)} cells: {mean:.3f}x; below 0.97x: {sum(r < 0.97 for r, _ in ratios)}")
    print("slowest cells:", *(f"  {r:.2f}x {name}" for r, name in sorted(ratios)[:12]), sep="\n")
    for what in ("forward", "dX", "dW", "db"):
        part = [r for r, name in ratios if name.startswith(what + " ")]
        print(f"  {what}: {math.exp(statistics.fmean(map(math.log, part))):.3f}x")


# --- activations -----------------------------------------------------------------------------------------------------------


def fused() -> None:
    print("\nlinear and activation, forward and backward, device microseconds")
    functional = peer.nn.functional
    for m, k, n in ((2048, 4096, 4096), (128, 4096, 4096)):
        p = data(m, k, n, "bfloat16")
        q = {name: shared(t) for name, t in p.items()}
        leaves = [p[name].detach().requires_grad_() for name in "xwb"]
        mine = [q[name].detach().requires_grad_() for name in "xwb"]
        for name, act, arguments in (
            ("relu", functional.relu, ("relu", "none")),
            ("gelu tanh", lambda z: functional.gelu(z, approximate="tanh"), ("gelu", "tanh")),
            ("gelu erf", functional.gelu, ("gelu", "none")),
        ):

            def run_peer(act: Any = act, p: Any = p, leaves: Any = leaves) -> None:
                peer.autograd.grad(act(functional.linear(*leaves)), leaves, p["g"])

            def run_ours(arguments: Any = arguments, q: Any = q, mine: Any = mine) -> None:
                ours.autograd.grad(fused_linear(*mine, arguments[0], approximate=arguments[1]), mine, q["g"])

            a, b, width = compared(run_peer, run_ours)
            print(f"  {m}x{k}x{n} bf16 {name:10} {a:9.1f} / {b:9.1f}  {a / b:.2f}x  ±{width * 100:.0f}%", flush=True)
    two_layers()


def two_layers() -> None:
    functional = peer.nn.functional
    for m, k, n in ((2048, 1024, 4096), (2048, 4096, 4096)):
        p, q = data(m, k, n, "bfloat16"), data(m, n, k, "bfloat16")
        leaves = [t.detach().requires_grad_() for t in (p["x"], p["w"], p["b"], q["w"], q["b"])]
        mine = [shared(t.detach()).requires_grad_() for t in leaves]
        mine_g = shared(q["g"])

        def run_peer(leaves: Any = leaves, q: Any = q) -> None:
            z = functional.gelu(functional.linear(*leaves[:3]), approximate="tanh")
            peer.autograd.grad(functional.linear(z, *leaves[3:]), leaves, q["g"])

        def run_ours(mine: Any = mine, g: Any = mine_g) -> None:
            z = fused_linear(*mine[:3], "gelu", approximate="tanh")
            ours.autograd.grad(ours.nn.functional.linear(z, *mine[3:]), mine, g)

        a, b, width = compared(run_peer, run_ours)
        print(
            f"  {m}x{k}x{n}x{k} bf16 two layers, gelu tanh {a:9.1f} / {b:9.1f}  {a / b:.2f}x  ±{width * 100:.0f}%",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("host", "device", "fused"))
    options = parser.parse_args()
    path, version, why = _core.cublaslt_library()
    print(f"PyTorch {peer.__version__}; {peer.cuda.get_device_name()}; cuBLASLt {version} {path}{why}")
    if options.only in (None, "host"):
        host()
    if options.only in (None, "fused"):
        fused()
    if options.only in (None, "device"):
        device((16, 2048) if options.quick else ROWS, WEIGHTS[:3:2] if options.quick else WEIGHTS)
    print("\n", _core.gemm_status())
    fusions = [p for p in _core.gemm_plans() if p["fusion"]]
    for p in fusions:  # measured against kernels of our own beside a plain product
        kind = (
            "dW with db" if p["epilogue"] >= 256 else "dX through gelu" if p["epilogue"] in (192, 208) else "gelu kept"
        )
        print(
            f"  {kind} {p['m']}x{p['n']}x{p['k']} {p['dtype']} in one epilogue: {'faster' if p['fusion'] > 0 else 'not faster'}"
        )


if __name__ == "__main__":
    main()
