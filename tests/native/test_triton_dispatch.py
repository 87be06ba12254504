"""Launches of Triton kernels by the dispatcher are stock Triton's, over a driver that records them (simulated_cuda/)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl import native

HERE = Path(__file__).resolve().parent
CHECKS = HERE / "simulated_cuda" / "triton_checks.py"


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    if not sys.platform.startswith("linux") or shutil.which("g++") is None:
        pytest.skip("needs g++")
    folder = tmp_path_factory.mktemp("triton_driver")
    source = HERE / "simulated_cuda" / "triton_driver.cpp"
    command = ["g++", "-std=c++20", "-w", "-shared", "-fPIC", str(source), "-o", str(folder / "libcuda.so.1"), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    (folder / "libcuda.so").symlink_to(folder / "libcuda.so.1")
    return folder


def launched(driver, checks, parts, variables):
    """Runs parts of the checks over the driver."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(driver),
        **variables,
        "TRITON_LIBCUDA_PATH": str(driver),
        "TRITON_CACHE_DIR": str(driver / "cache"),
        "PYTHONPATH": os.pathsep.join([str(Path(native.__file__).parents[3]), os.environ.get("PYTHONPATH", "")]),
    }
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run(
        [sys.executable, str(checks), *parts], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0 and "ok" in done.stdout.split(), done.stdout[-2000:] + done.stderr[-4000:]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["parity", "stays_stock", "tuned", "arrays", "no_compiler"])
def test_launches(driver, part, tmp_path):
    launched(driver, CHECKS, [part], {"SHIM_CACHE_DIR": str(tmp_path)})
