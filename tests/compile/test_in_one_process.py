"""The tests of this folder where pytest-xdist runs the others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_this_folder():
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--tb=short",
        "compile",
    ]
    done = subprocess.run(
        command, cwd=Path(__file__).resolve().parents[1], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
