"""Compiles the test extensions once a session and loads them into this process."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from native import stand_ins

HERE = Path(__file__).parent


def compile_extension(source: Path, target: Path, *options: str, link: bool = True) -> Path:
    """Builds a shared object that links to the stand-ins (``link``); skips where there is no compiler."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", str(source), "-o", str(target), *options]
    libraries = ["-Wl,--no-as-needed", f"-L{stand_ins.folder()}", "-ltorch", "-ltorch_cpu"] if link else []
    subprocess.run([*command, *libraries], check=True)
    return target


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_extension(HERE / "extension.cpp", tmp_path_factory.mktemp("abi") / "abi_test.so")


@pytest.fixture(scope="session")
def ops(library: Path):
    import shim_torch as torch

    torch.ops.load_library(library)
    return torch.ops.abi_test
