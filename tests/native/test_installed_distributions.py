"""A user's folders called numpy or cuda do not keep us from NumPy and cuda-pathfinder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch

ROOT = Path(shim_torch.__file__).parents[1]


@pytest.fixture
def python(tmp_path):
    """``python(code, **files)``: what code prints, with the files in a folder first on its path and a cuda-pathfinder after it."""
    site = tmp_path / "site"
    (site / "cuda" / "pathfinder").mkdir(parents=True)
    (site / "cuda" / "pathfinder" / "__init__.py").write_text(
        "from cuda.pathfinder._parts.load import load_nvidia_dynamic_lib\n"
    )
    (site / "cuda" / "pathfinder" / "_parts").mkdir()
    found = "class Found:\n    abs_path = '/found/libcufft.so.11'\n"
    (site / "cuda" / "pathfinder" / "_parts" / "load.py").write_text(
        f"{found}def load_nvidia_dynamic_lib(name):\n    return Found\n"
    )
    (site / "cuda_pathfinder-1.0.dist-info").mkdir()

    def call(code: str, files: dict[str, str], before: str = "") -> str:
        for name, text in files.items():
            (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "own" / name).write_text(text)
        start = f"import sys; sys.path.insert(0, {str(tmp_path / 'own')!r}); sys.path.append({str(site)!r})\n"
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", before + start + code], capture_output=True, text=True, env=environment
        )
        return done.stdout.strip() if not done.returncode else done.stderr

    return call


@pytest.mark.parametrize(
    "files",
    [{"cuda/test_x.py": ""}, {"cuda/__init__.py": "OWN = 1"}, {"cuda/__init__.py": "OWN = 1", "cuda/test_x.py": ""}],
)
@pytest.mark.parametrize("imported", ["", "import cuda\n"])
def test_a_folder_called_cuda(python, files, imported):
    code = """
from shim_torch._impl.extensions.cuda_libraries import candidates
assert "/found/libcufft.so.11" in candidates("cufft")
import cuda
print(getattr(cuda, "OWN", None))
"""
    assert python(imported + code, files) == ("1" if "cuda/__init__.py" in files else "None")


def test_a_folder_called_cuda_that_cannot_be_imported(python):
    code = "from shim_torch._impl.extensions.cuda_libraries import candidates; print('/found/x' in candidates('cufft'))"
    assert python(code, {"cuda/__init__.py": "raise SystemError"}) == "False"


@pytest.mark.parametrize("files", [{"numpy/test_x.py": ""}, {"numpy/__init__.py": "OWN = 1"}])
def test_a_folder_called_numpy(python, files):
    code = "import shim_torch, numpy; print(shim_torch.ones(2).numpy().sum(), numpy.float32(1))"
    assert python(code, files) == "2.0 1.0"
    scope = "import sys; from compat import enable_torch_proxy; enable_torch_proxy('__main__')\n"
    assert python("import torch; print(torch.ones(2).numpy().sum())", files, scope) == "2.0"


def test_a_package_called_numpy_that_is_imported_already(python):
    error = python("import numpy; import shim_torch", {"numpy/__init__.py": "OWN = 1"})
    assert "ImportError: shim_torch needs numpy, and numpy is " in error and "rename that folder" in error
