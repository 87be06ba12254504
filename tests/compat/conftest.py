"""Each probe is a fresh interpreter: what the hook changes there cannot reach another test."""

from __future__ import annotations

import os
import subprocess
import sys
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
