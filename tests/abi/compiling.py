"""Builds the shared objects of these tests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shim_torch._impl.native import stand_ins


def compile_extension(source: Path, target: Path, *options: str, link: bool = True) -> Path:
    """Builds a shared object that links to the stand-ins (``link``); skips where there is no compiler."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    command = [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", str(source), "-o", str(target), *options]
    libraries = ["-Wl,--no-as-needed", f"-L{stand_ins.folder()}", "-ltorch", "-ltorch_cpu"] if link else []
    subprocess.run([*command, *libraries], check=True)
    return target
