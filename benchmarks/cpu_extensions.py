"""What C++ extensions cost on the CPU, here and with PyTorch: the compiler's processor seconds, and calls of operators from C++.

    python benchmarks/cpu_extensions.py --torch-python /path/to/python/with/torch --scatter /path/to/pytorch_scatter

Both sides take turns. A compiler's time is that of its process and its children; a call's is the thread's processor time, so
that what else the machine does counts for little. Without ``--scatter`` (a checkout of rusty1s/pytorch_scatter) its two
files are left out; they are compiled as its setup.py has them compiled, without CUDA.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from side_by_side import machine

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = """
import json, sysconfig
from torch.utils import cpp_extension
print(json.dumps([*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]))
"""
CALLS = """
#include <ctime>
template <class F> double nanoseconds(F f) {
  const auto now = [] { timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; };
  const int count = 20000;
  for (int i = 0; i < 2000; ++i) f();
  const double begin = now();
  for (int i = 0; i < count; ++i) f();
  return (now() - begin) / count;
}
std::vector<double> calls(at::Tensor x, at::Tensor y) {
  return {nanoseconds([&] { return x.dim(); }), nanoseconds([&] { return at::empty({4}, x.options()); }),
      nanoseconds([&] { return at::add(x, y); }), nanoseconds([&] { return x.add_(y); }),
      nanoseconds([&] { return x.view({2, 2}); })};
}
"""
NAMES = ("x.dim()", "at::empty({4})", "at::add(x, y)", "x.add_(y)", "x.view({2, 2})")
RUN = f"""
import json, sys, time, torch
from torch.utils import cpp_extension
m = cpp_extension.load_inline("timed_calls", {CALLS!r}, functions=["calls"], extra_cflags=["-O2"], build_directory=sys.argv[1])
x, y = torch.ones(4), torch.zeros(4)
def nanoseconds(f, count=20000):
    for _ in range(2000): f()
    begin = time.thread_time()
    for _ in range(count): f()
    return (time.thread_time() - begin) / count * 1e9
with torch.no_grad():
    python = [nanoseconds(f) for f in (lambda: x.dim(), lambda: torch.empty(4), lambda: torch.add(x, y), lambda: x.add_(y), lambda: x.view(2, 2))]
    print(json.dumps([m.calls(x, y), python]))
"""


class Side:
    """An interpreter with its torch: ours by the proxy, or PyTorch."""

    def __init__(self, python: str, ours: bool, folder: Path, installed: bool) -> None:
        self.folder = folder
        self.command = [python, *(["-m", "compat", "run"] if ours else [])]
        folder.mkdir()
        path = [str(Path(python).parent), os.environ["PATH"]]  # ninja may stand beside the interpreter
        self.environment = {**os.environ, "PATH": os.pathsep.join(path), "PYTHONPATH": "" if installed else str(ROOT)}
        self.includes = [f"-I{place}" for place in self.answer(FOLDERS)]

    def answer(self, program: str) -> Any:
        file = self.folder / "program.py"
        file.write_text(program)
        done = subprocess.run(
            [*self.command, str(file), str(self.folder)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        return json.loads(done.stdout.splitlines()[-1])

    def compiled(self, sources: list[str], flags: list[str]) -> float:
        """Processor seconds of the compiler for these sources."""
        compiler = shlex.split(os.environ.get("CXX", "g++"))
        kind = ["-std=c++20", "-fPIC", "-DTORCH_API_INCLUDE_EXTENSION_H", "-DTORCH_EXTENSION_NAME=timed", "-c"]
        before = used()
        for source in sources:
            target = str(self.folder / "made.o")
            subprocess.run(
                [*compiler, *kind, *flags, *self.includes, source, "-o", target], check=True, stderr=subprocess.DEVNULL
            )
        return used() - before


def used() -> float:
    """Processor seconds of the processes that have ended."""
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def row(name: str, ours: list[float], peer: list[float]) -> None:
    a, b = median(ours), median(peer)
    print(f"{name:44}{a:10.2f} ({min(ours):7.2f}){b:10.2f} ({min(peer):7.2f}){a / b:8.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True, help="interpreter with PyTorch")
    parser.add_argument("--scatter", help="a checkout of rusty1s/pytorch_scatter")
    parser.add_argument("--installed", action="store_true", help="ours as it is installed, instead of this tree's")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--compiling", action="store_true", help="no calls: compile times do not depend on how the core was built"
    )
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        sides = [
            Side(sys.executable, True, folder / "ours", args.installed),
            Side(args.torch_python, False, folder / "peer", True),
        ]
        single = folder / "single.cpp"
        single.write_text("#include <torch/extension.h>\n")
        cases = {"torch/extension.h, -O2": ([str(single)], ["-O2"])}
        if args.scatter:
            sources = [f"{args.scatter}/csrc/{name}" for name in ("scatter.cpp", "cpu/scatter_cpu.cpp")]
            flags = f"-O3 -I{args.scatter}/csrc -DWITH_PYTHON -DAT_PARALLEL_OPENMP -fopenmp".split()
            cases["scatter.cpp and scatter_cpu.cpp, -O3"] = (sources, flags)
        print(f"{'seconds of processor time: medians (least)':44}{'ours':>20}{'PyTorch':>20}{'ratio':>8}", flush=True)
        for name, case in cases.items():
            found = [[], []]
            for _ in range(args.rounds):
                for times, side in zip(found, sides, strict=True):
                    times.append(side.compiled(*case))
            row(name, *found)
        if args.compiling:
            return
        answers = [[side.answer(RUN) for side in sides] for _ in range(max(5, args.rounds))]
        print(f"{'ns of a call: medians (least)':44}{'ours':>20}{'PyTorch':>20}{'ratio':>8}")
        for place, language in enumerate(("C++", "Python")):
            for i, name in enumerate(NAMES):
                row(f"{name}, from {language}", *([turn[s][place][i] for turn in answers] for s in (0, 1)))


if __name__ == "__main__":
    main()
