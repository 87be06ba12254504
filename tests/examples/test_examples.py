"""Every example runs, as its reader would run it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {
    "triton_kernels.py": ["triton"],
    "liger_training.py": ["liger_kernel"],
    "liger_kernels.py": ["liger_kernel"],
    "cupy_arrays.py": ["liger_kernel"],
    "jax_arrays.py": ["liger_kernel", "jax"],
}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_example(name):
    absent = [needed for needed in NEEDS.get(name, ()) if importlib.util.find_spec(needed) is None]
    if absent:
        pytest.skip(f"{' and '.join(absent)} not installed")
    environment = dict(os.environ)
    if (EXAMPLES.parent / "native" / "__init__.py").exists() and importlib.util.find_spec("compat") is not None:
        root = Path(str(importlib.util.find_spec("compat").origin)).parents[1]  # type: ignore[union-attr]
        environment["PYTHONPATH"] = os.pathsep.join([str(root), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", name],
        cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout
