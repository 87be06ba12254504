"""Runs a function of a module in several processes, which meet by a file; none of them outlives the deadline."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DEADLINE = 60.0  # seconds, on a machine that others use too


def start(
    number: int, module: str, function: str, folder: Path, *args: Any, env: dict[str, str] | None = None,
    python: str = sys.executable, torch: str = "shim_torch",
) -> list[Any]:  # fmt: skip
    """The processes, begun; with PyTorch if ``python`` has it and ``torch`` says so."""
    (folder / "call").write_bytes(pickle.dumps((module, function, args)))
    paths = os.pathsep.join([str(HERE), *(filter(None, sys.path) if torch == "shim_torch" else [])])
    given = os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "RANKS_TORCH": torch} | (env or {})
    command = [python, str(HERE / "processes.py"), str(folder)]
    return [
        subprocess.Popen(
            [*command, str(rank), str(number)], env=given, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for rank in range(number)
    ]


def finish(processes: list[Any], folder: Path, dies: tuple[int, ...] = ()) -> list[Any]:
    """What the function gave in each; the ranks in ``dies`` are killed by themselves."""
    end = time.monotonic() + DEADLINE
    outputs = []
    try:
        for rank, process in enumerate(processes):
            try:
                outputs.append(process.communicate(timeout=max(0.1, end - time.monotonic()))[0])
            except subprocess.TimeoutExpired:
                raise AssertionError(f"rank {rank} of {len(processes)} does not end") from None
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    for rank, (process, output) in enumerate(zip(processes, outputs, strict=True)):
        assert process.returncode == (-9 if rank in dies else 0), f"rank {rank}: {process.returncode}\n{output}"
    files = [folder / f"result {rank}" for rank in range(len(processes))]
    return [pickle.loads(file.read_bytes()) if file.exists() else None for file in files]


def together(number: int, module: str, function: str, folder: Path, *args: Any, **more: Any) -> list[Any]:
    """What ``function(rank, number, folder, *args)`` gave in each process."""
    dies = more.pop("dies", ())
    return finish(start(number, module, function, folder, *args, **more), folder, dies)


def main() -> None:
    folder, rank, number = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    module, function, args = pickle.loads((folder / "call").read_bytes())
    result = getattr(importlib.import_module(module), function)(rank, number, folder, *args)
    (folder / f"result {rank}").write_bytes(pickle.dumps(result))
    if os.environ["RANKS_TORCH"] == "torch":
        # PyTorch's own threads sometimes abort its process while the interpreter ends; how it ends is not compared.
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
