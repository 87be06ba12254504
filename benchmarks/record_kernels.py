"""Records which CUDA kernels the workloads ask for, on a machine with a GPU: ``python record_kernels.py [FOLDER]``.

Each workload of kernel_workloads.py runs in a process of its own, once a dtype. The recordings go into the table with
``python tools/kernel_pack.py merge FOLDER/*.txt``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kernel_workloads import DTYPES, SKIPPED, WORKLOADS

HERE = Path(__file__).resolve().parent


def record(name: str, dtype: str, folder: Path) -> str:
    """Runs one; what became of it."""
    path = folder / f"{name}-{dtype}.txt"
    path.unlink(missing_ok=True)
    environment = {**os.environ, "SHIM_TORCH_RECORD_KERNELS": str(path)}
    command = [sys.executable, str(HERE / "kernel_workloads.py"), name, dtype]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode == SKIPPED:
        return "skipped: " + (done.stderr.strip().splitlines() or ["of another dtype"])[-1]
    if done.returncode:
        path.unlink(missing_ok=True)
        return "failed:\n" + done.stderr[-2000:]
    return f"{len(set(path.read_text().splitlines())) if path.exists() else 0} programs"


def main(folder: Path) -> int:
    """Records all; 1 where one fails."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for name in WORKLOADS:
        for dtype in DTYPES:
            outcome = record(name, dtype, folder)
            failed = failed or outcome.startswith("failed")
            print(f"{name:18} {dtype:9} {outcome}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/kernel-recordings")))
