"""Programs that ask for CUDA kernels of a simulated driver and compiler (simulated_kernels/), for the tests of the kernels' store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from shim_torch._impl import native

INSTALLED = str(Path(native.__file__).parents[3])
DRIVER = Path(__file__).resolve().parent / "simulated_kernels" / "driver.c"


def line(op: str, vector: int = 4) -> str:
    """A specialisation, as recordings, tables and histories have it; of a dtype that the table's workloads do not ask for."""
    return f"reduce OP={op} NORM=0 TIN=double C=double OUT=double V={vector} LOGIC=0 LOG=0 SOFTMAX=0"


@dataclass
class Simulated:
    """The simulated libraries, and what the programs run with them keep and say."""

    libraries: Path
    folder: Path

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def log(self) -> list[list[str]]:
        """A list [what, thread, arguments] for each line that the compiler wrote."""
        path = self.folder / "log"
        return [row.split(" ", 2) for row in path.read_text().splitlines()] if path.exists() else []

    def run(self, code: str, *options: str, **variables: str) -> Any:
        """What a program gives to ``say``, read from JSON; ``_core``, ``load`` and ``line`` are there."""
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(self.libraries),
            "SHIM_NVRTC_PATH": str(self.libraries / "libnvrtc.so.13"),
            "SHIM_CACHE_DIR": str(self.cache),
            "SHIM_TORCH_KERNEL_PACK": "",
            "SHIM_TORCH_COMPILE_AHEAD": "0",
            "SIMULATED_LOG": str(self.folder / "log"),
            "PYTHONPATH": os.pathsep.join([INSTALLED, str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
            **variables,
        }
        whole = (
            "import json, os, sys, threading, time\nfrom shim_torch._impl.native import _core\nfrom kernel_runs import line\n"
            "say = lambda value: print('said', json.dumps(value), flush=True)\n"
            f"load = lambda text: _core.kernel_load(0, text, 'entry')\n{code}"
        )
        done = subprocess.run(
            [sys.executable, *options, "-c", whole], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said = [json.loads(row[5:]) for row in done.stdout.splitlines() if row.startswith("said ")]
        return said[-1] if said else done.stderr


@pytest.fixture(scope="session")
def simulated_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a libcuda and a libnvrtc that are driver.c."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux")
    folder = tmp_path_factory.mktemp("simulated_kernels")
    library = folder / "libcuda.so.1"
    subprocess.run([compiler, "-w", "-O1", "-shared", "-fPIC", str(DRIVER), "-o", str(library)], check=True)
    shutil.copy(library, folder / "libnvrtc.so.13")
    return folder


@pytest.fixture
def store(simulated_libraries: Path, tmp_path: Path) -> Simulated:
    """A fresh cache and a fresh log."""
    return Simulated(simulated_libraries, tmp_path)
