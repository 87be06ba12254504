"""A project whose ``pyproject.toml`` asks for torch, built by pip in an environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch_proxy.cli import provide

BACKEND = """
import os, zipfile
import torch

def build_wheel(folder, *_):
    said = f"{torch.__version__} {torch.arange(4).sum().item()} {'site' in os.environ['PYTHONPATH']}"
    info = "isolated-1.0.dist-info"
    files = {
        "isolated.py": f"SAID = {said!r}\\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\\nName: isolated\\nVersion: 1.0\\nRequires-Dist: torch (>=2)\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    with zipfile.ZipFile(os.path.join(folder, "isolated-1.0-py3-none-any.whl"), "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{n},,\\n" for n in (*files, f"{info}/RECORD")))
    return "isolated-1.0-py3-none-any.whl"
"""


@pytest.fixture
def install(tmp_path):
    """``install(what torch is required, options of run)``: pip's outcome, and the folder that it installs into."""
    root = Path(provide.__file__).parents[2]
    here = [str(root)] if (root / "shim_torch/_impl/native/lib").exists() else []
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *here]))
    temporary = tmp_path / "temporary"
    temporary.mkdir()

    def run(requires: str, *options: str) -> tuple[subprocess.CompletedProcess[str], Path]:
        project, site = tmp_path / "project", tmp_path / "site"
        project.mkdir(exist_ok=True)
        (project / "backend.py").write_text(BACKEND)
        (project / "pyproject.toml").write_text(
            f'[build-system]\nrequires = ["{requires}"]\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        )
        command = ["run", *options, "-m", "pip", "install", "--no-index", "--target", str(site), str(project)]
        done = subprocess.run(
            [sys.executable, "-m", "shim_torch_proxy", *command], capture_output=True, text=True, timeout=300,
            env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(temporary)},
        )  # fmt: skip
        assert list(temporary.glob("shim-torch-*")) == []  # what pip was given is gone
        return done, site

    return run


def test_a_build_in_isolation_gets_our_torch_and_no_other(install, monkeypatch):
    done, site = install("torch>=2.1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (site / "isolated.py").read_text() == "SAID = '2.13.0+shim 6 True'\n"
    # The project itself requires torch, too: what is installed for it is metadata, as of `provide`, and inert without `run`.
    (info,) = provide.installed(site)
    assert info.name == "torch-2.13.0+shim.dist-info" and provide.is_ours(info)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SHIM_TORCH")}
    code = f"import site; site.addsitedir({str(site)!r}); import isolated; import importlib.util as u; print(u.find_spec('torch'))"
    monkeypatch.chdir(site)
    bare = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=plain)
    assert bare.stdout == "None\n", bare.stderr
    assert provide.remove(site) == [info] and list(site.glob("*torch*")) == []


def test_the_version_that_a_build_asks_for_can_be_claimed(install):
    done, _ = install("torch==2.11.0")
    assert done.returncode != 0 and "torch==2.11.0" in done.stdout + done.stderr
    done, site = install("torch==2.11.0", "--version", "2.11.0")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (site / "isolated.py").read_text().startswith("SAID = '2.11.0 6 ")
