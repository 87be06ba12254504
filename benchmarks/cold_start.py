"""The first step of a fresh process with an empty cache: with the pack of kernels, without it, with a full cache, and PyTorch's.

``python cold_start.py [--pack FILE] [--pytorch PYTHON] [--runs N] [--columns NAME ...] [--cases NAME ...]``, on a machine with a
GPU. ``--pytorch`` names a Python that has PyTorch (and transformers, liger-kernel, found on PYTORCH_PYTHONPATH too); without it that
column is empty, as are rows whose packages are absent. Each figure is the median over fresh processes. Measured from the first line
of the workload, imports done ("step"), and from the process's start ("whole"); of the latter, what the import of transformers or of
Liger took is printed too. Triton's own cache is emptied with ours: what Triton compiles is in the figures of both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 3
CASES = (
    ("llama_first_step", "float32"),
    ("llama_first_step", "bfloat16"),
    ("liger_first", "float32"),
    ("demo", "float32"),
)
TIMED = """
import sys, time
sys.path.insert(0, {here!r})
name, dtype, library = sys.argv[1:]
if library == "ours":
    from compat import enable_torch_proxy
    enable_torch_proxy(scope={{"kernel_workloads", "transformers", "accelerate", "safetensors", "liger_kernel", "triton"}})
import kernel_workloads as work
work.enable(False)  # whose torch it is was said above
begun = time.perf_counter()
if name.startswith("llama"):
    work.needs("transformers")
    from transformers import LlamaConfig, LlamaForCausalLM  # transformers imports these only when asked for by name
elif name.startswith("liger"):
    work.needs("liger_kernel")
    import liger_kernel.transformers
print("imports", time.perf_counter() - begun)
work.torch.cuda.init()
work.torch.empty(1, device="cuda")
begun = time.perf_counter()
work.WORKLOADS[name](getattr(work.torch, dtype))
work.torch.cuda.synchronize()
print("seconds", time.perf_counter() - begun)
if library == "ours":
    from shim_torch._impl.native import _core
    print("counts", _core.kernel_counts(), file=sys.stderr)
"""


def once(
    python: str, case: tuple[str, str], library: str, cache: str, pack: str
) -> tuple[float, float, float, str] | None:
    """Seconds of the step, of the whole process, of third parties' imports, and what the core compiled; None where a package is absent."""
    environment = {
        **os.environ,
        "SHIM_CACHE_DIR": cache,
        "TRITON_CACHE_DIR": cache + "/triton",
        "CUDA_CACHE_PATH": cache + "/driver",
        "SHIM_TORCH_KERNEL_PACK": pack,
        "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        if library == "ours"
        else os.environ.get("PYTORCH_PYTHONPATH", ""),
    }
    begun = time.perf_counter()
    command = [python, "-c", TIMED.format(here=str(HERE)), *case, library]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    whole = time.perf_counter() - begun
    if done.returncode == SKIPPED:
        return None
    if done.returncode:
        raise SystemExit(f"{case}, {library}: exit status {done.returncode}\n{done.stderr[-3000:]}")
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("seconds ", "imports ")))
    counts = [line for line in done.stderr.splitlines() if line.startswith("counts ")]
    return float(said["seconds"]), whole, float(said["imports"]), counts[-1] if counts else ""


def median(python: str, case: tuple[str, str], library: str, pack: str, runs: int, full: bool) -> tuple[str, str]:
    """The cell, and what the core counted."""
    seconds, counts = [], ""
    with tempfile.TemporaryDirectory() as kept:
        if full:
            once(python, case, library, kept, pack)
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as fresh:
                found = once(python, case, library, kept if full else fresh, pack)
            if found is None:
                return "-", ""
            seconds.append(found[:3])
            counts = found[3]
    return " / ".join(f"{statistics.median(part):.2f}" for part in zip(*seconds, strict=True)), counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", default="", help="else the installed one")
    parser.add_argument("--pytorch", default="", help="a Python that has PyTorch")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--columns", nargs="*", default=[], help="only these, as the table names them")
    parser.add_argument("--cases", nargs="*", default=[case[0] for case in CASES], help="only these workloads")
    given = parser.parse_args()
    pack = str(Path(given.pack).resolve()) if given.pack else installed_pack()
    columns = [("empty, pack", sys.executable, "ours", pack, False)] if pack else []
    columns += [
        ("empty, no pack", sys.executable, "ours", "", False),
        ("full, no pack", sys.executable, "ours", "", True),
    ]
    if given.pytorch:
        columns += [("PyTorch, empty", given.pytorch, "pytorch", "", False)]
        columns += [("PyTorch, full", given.pytorch, "pytorch", "", True)]
    columns = [column for column in columns if not given.columns or column[0] in given.columns]
    print("seconds: step / whole process / imports in it" + ("" if pack else "; there is no pack"))
    print(f"{'':26}" + "".join(f"{name:>22}" for name, *_ in columns))
    for case in (case for case in CASES if case[0] in given.cases):
        cells, notes = [], []
        for name, python, library, path, full in columns:
            cell, counts = median(python, case, library, path, given.runs, full)
            cells.append(f"{cell:>22}")
            notes += [f"    {name}: {counts}"] if counts else []
        print(f"{' '.join(case):26}" + "".join(cells), *notes, sep="\n", flush=True)


def installed_pack() -> str:
    """The pack of the distribution shim-torch-kernels; empty if there is none."""
    sys.path.insert(0, str(HERE.parent))
    from shim_torch._impl.extensions import kernel_pack

    return kernel_pack.pack()


if __name__ == "__main__":
    main()
