"""Each probe is a fresh interpreter: what the hook changes there cannot reach another test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import compat

ROOT = Path(compat.__file__).parents[1]  # where it is installed, or the source tree
FIXTURES = Path(__file__).parent / "fixtures"


def run_python(arguments: list[str], *folders: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    paths = [*(str(FIXTURES / folder) for folder in folders), str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=cwd or FIXTURES, timeout=120
    )


@pytest.fixture
def probe() -> Callable[..., str]:
    """``probe(code, real=False)``: the output of ``code`` run with the stand-ins on the path; fails if it does."""

    def call(code: str, real: bool = False) -> str:
        folders = ["shim", "libs", *(["real"] if real else [])]
        done = run_python(["-W", "ignore", "-c", textwrap.dedent(code)], *folders)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


@pytest.fixture
def python() -> Callable[..., subprocess.CompletedProcess[str]]:
    """``python(arguments, *fixture folders)``: a finished interpreter."""
    return run_python


SOURCE = Path(__file__).parent / "native_user.c"


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., str]:
    """``build(name, *options)``: an extension module of native_user.c, and the start of a program that can import it."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")

    def call(name: str = "native_user", *options: str) -> str:
        target = tmp_path / (name + sysconfig.get_config_var("EXT_SUFFIX"))
        flags = ["-shared", "-fPIC", "-w", f"-DNAME={name}", f"-I{sysconfig.get_path('include')}", *options]
        subprocess.run([compiler, *flags, str(SOURCE), "-o", str(target)], check=True)
        return f"import sys, faulthandler; sys.path.insert(0, {str(tmp_path)!r}); faulthandler.dump_traceback_later(60, exit=True)\n"

    return call
