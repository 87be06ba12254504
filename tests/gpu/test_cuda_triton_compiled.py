"""Launches of Triton kernels in compiled functions: the checks of tests/native, by the kernels themselves."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl import native

CHECKS = Path(__file__).parents[1] / "native" / "simulated_cuda"
PARTS = [
    (
        "triton_compiled_checks",
        "one_program",
        "arguments",
        "addresses",
        "reads",
        "parts",
        "guards",
        "training",
        "graphs",
        "graphs_after_each_other",
    ),
    ("triton_seldom_checks", "at_once", "tuned", "backends", "libraries", "random_functions"),
]


@pytest.mark.parametrize("parts", PARTS)
def test_parts(parts):
    pytest.importorskip("triton")
    path = os.pathsep.join([str(Path(native.__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, str(CHECKS / f"{parts[0]}.py"), *parts[1:]]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0 and "ok" in done.stdout.split(), done.stdout[-2000:] + done.stderr[-4000:]
