"""What a user does often on the CPU, of shim_torch against PyTorch: several hundred calls, small and large, backward too.

    python benchmarks/cpu_wide.py --torch-python /path/to/python/with/torch [--threads 1] [--groups host,layers]

Two interpreters take turns on the same cases. Prints the median and the shortest time of a call in microseconds for both,
the spread between quartiles, and two ratios (below 1: shim_torch is faster): of the medians and of the shortest times,
which other programs of the machine disturb least. Then the cases above ``--above`` in both ratios, the worst first.
"""

from __future__ import annotations

import argparse
import os
import sys
from statistics import geometric_mean, median
from typing import Any

import cpu_cases
import cpu_cases_backward
import cpu_cases_host
import cpu_cases_images
import cpu_cases_layers
import cpu_cases_linalg
import cpu_cases_programs
from side_by_side import Cases, Side, compare, machine, serve, version_of

GROUPS = {
    "host": cpu_cases_host.host_cases,
    "modules": cpu_cases_programs.module_cases,
    "training": cpu_cases_programs.training_cases,
    "backward": cpu_cases_backward.backward_cases,
    "layers": cpu_cases_layers.layer_cases,
    "images": cpu_cases_images.image_cases,
    "indexing": cpu_cases_layers.index_cases,
    "random": cpu_cases_layers.random_cases,
    "copies": cpu_cases.copy_cases,
    "reductions": cpu_cases.reduction_cases,
    "pointwise": cpu_cases.pointwise_cases,
    "dtypes": cpu_cases.dtype_cases,
    "linalg": cpu_cases_linalg.linalg_cases,
    "special": cpu_cases_linalg.special_cases,
}
Found = dict[str, dict[str, "list[float] | str"]]


def cases(torch: Any, groups: list[str]) -> Cases:
    """The calls of these groups, each under ``group: name``."""
    found: Cases = {}
    for group in groups:
        torch.manual_seed(0)
        found |= {f"{group}: {name}": call for name, call in GROUPS[group](torch).items()}
    return found


def ratios(sides: dict[str, list[float] | str]) -> tuple[float, float] | None:
    """Ours as a part of the peer's: of medians and of shortest times. None where a side has no times."""
    ours, peer = sides.get("shim_torch"), sides.get("torch")
    if not ours or not peer or isinstance(ours, str) or isinstance(peer, str):
        return None
    return median(ours) / median(peer), min(ours) / min(peer)


def line_of(name: str, sides: dict[str, list[float] | str]) -> str:
    line = f"{name:48}"
    for label in ("shim_torch", "torch"):
        times = sides.get(label)
        if not times or isinstance(times, str):
            line += f"  {(times or 'not run')[:26]:28}"
            continue
        low, high = sorted(times)[len(times) // 4], sorted(times)[3 * len(times) // 4]
        line += f"{median(times) * 1e6:11.2f}{min(times) * 1e6:11.2f}{(high - low) / median(times):8.0%}"
    found = ratios(sides)
    return line + (f"{found[0]:8.2f}{found[1]:8.2f}" if found else "")


def report(found: Found, above: float) -> None:
    head = f"{'shim_torch us':>11}{'least':>9}{'spread':>8}{'torch us':>11}{'least':>11}{'spread':>8}{'ratio':>8}{'least':>8}"
    print(f"{'case':48}{head}")
    for name, sides in found.items():
        print(line_of(name, sides))
    known = {name: r for name, sides in found.items() if (r := ratios(sides))}
    slower = {name: r for name, r in known.items() if min(r) > above}
    print(f"\n{len(known)} cases; {len(slower)} above {above} in both ratios, the worst first:")
    for name in sorted(slower, key=lambda n: -min(slower[n])):
        print(line_of(name, found[name]))
    print("\ngeometric mean of the ratios of medians:")
    for group in dict.fromkeys(name.split(":")[0] for name in known):
        print(f"  {group:12}{geometric_mean(r[0] for name, r in known.items() if name.startswith(group + ':')):6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", help="interpreter with PyTorch; without it only shim_torch is measured")
    parser.add_argument("--seconds", type=float, default=0.005, help="a turn")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each side")
    parser.add_argument("--threads", type=int, default=0, help="threads of both libraries; 0: as they come")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall", help="as in cpu_eager.py")
    parser.add_argument("--above", type=float, default=1.1, help="cases with a greater ratio are listed again")
    parser.add_argument("--groups", default=",".join(GROUPS), help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--serve", choices=["torch", "shim_torch"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    groups = args.groups.split(",")
    if args.serve:
        torch = __import__(args.serve)
        if args.threads:
            torch.set_num_threads(args.threads)
        return serve(cases(torch, groups), args.seconds, args.clock)
    extra = ["--seconds", str(args.seconds), "--threads", str(args.threads), "--groups", args.groups]
    extra += ["--clock", args.clock]
    print(machine())
    sides = {"shim_torch": Side(sys.executable, os.path.abspath(__file__), "shim_torch", extra)}
    print(version_of(sys.executable, "shim_torch"))
    if args.torch_python:
        sides["torch"] = Side(args.torch_python, os.path.abspath(__file__), "torch", extra)
        print(version_of(args.torch_python, "torch"))
    print(
        f"{args.rounds} turns of {args.seconds * 1e3:g} ms, sides alternating; threads: {args.threads or 'as they come'}; "
        f"{args.clock} time\n"
    )
    report(compare(sides, args.rounds, args.only), args.above)
    for side in sides.values():
        side.close()


if __name__ == "__main__":
    main()
