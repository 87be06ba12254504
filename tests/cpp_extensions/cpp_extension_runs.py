"""Runs a program that builds extensions, in scope of the proxy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    root = str(HERE.parents[1])
    path = os.pathsep.join(
        filter(
            None, [os.environ.get("PYTHONPATH"), root if (Path(root) / "shim_torch/_impl/native/lib").exists() else ""]
        )
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": path}
    command = [sys.executable, "-m", "shim_torch_proxy", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)
