"""The package has two names; a program's own ``compat.py`` hides one of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import compat
import shim_torch_proxy

ROOT = Path(shim_torch_proxy.__file__).parents[1]
PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_both_names_lead_to_the_same_functions():
    assert compat.__all__ == shim_torch_proxy.__all__
    for name in compat.__all__:
        assert getattr(compat, name) is getattr(shim_torch_proxy, name)


@pytest.fixture
def program(tmp_path):
    """``program(*arguments)``: what a Python prints in a folder that has a ``compat.py`` and a package in scope."""
    (tmp_path / "compat.py").write_text("MINE = True\n")
    (tmp_path / "library.py").write_text("import torch, compat\nVALUE = (torch.zeros(2) + 1).tolist(), compat.MINE\n")
    (tmp_path / "script.py").write_text(
        "import library, compat, torch\nprint(library.VALUE, compat.MINE, torch.__name__)\n"
    )

    (tmp_path / "spawning.py").write_text(
        "import multiprocessing\n\n\ndef value():\n    import library\n\n    print(library.VALUE)\n\n\n"
        "if __name__ == '__main__':\n    process = multiprocessing.get_context('spawn').Process(target=value)\n"
        "    process.start()\n    process.join()\n"
    )

    def call(*arguments: str, **variables: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, timeout=120,
            env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


def test_a_programs_own_compat(program):
    code = "from shim_torch_proxy import enable_torch_proxy as e; e({'library'}); import library; print(library.VALUE)"
    assert program("-c", code) == "([1.0, 1.0], True)"


@pytest.mark.parametrize("options", [(), ("--scope", "library,__main__")])
def test_the_command_line_beside_a_programs_own_compat(program, options):
    assert program("-m", "shim_torch_proxy", "run", *options, "script.py") == "([1.0, 1.0], True) True torch"
    # What pip makes of the console script: this interpreter, our function; "" is no part of sys.path there.
    text = PROJECT.read_text() if PROJECT.exists() else 'shim-torch = "shim_torch_proxy.__main__:main"'
    module, function = re.findall(r'^shim-torch = "([\w.]+):(\w+)"$', text, re.MULTILINE)[0]
    code = f"import sys; sys.argv[0] = 'bin/shim-torch'; from {module} import {function}; sys.exit({function}())"
    assert program("-c", code, "run", *options, "script.py") == "([1.0, 1.0], True) True torch"
    assert program("-c", code, "--version").startswith("shim-torch")


def test_processes_that_a_program_starts_beside_its_own_compat(program):
    child = (
        "import subprocess, sys; print(subprocess.run([sys.executable, 'script.py'], capture_output=True, text=True))"
    )
    assert "([1.0, 1.0], True) True torch" in program("-m", "shim_torch_proxy", "run", "-c", child)
    assert program("-m", "shim_torch_proxy", "run", "spawning.py") == "([1.0, 1.0], True)"


def test_errors_name_a_programs_own_compat(program, tmp_path):
    (tmp_path / "compat.py").write_text("import torch\n\n\ndef ask():\n    return torch.cuda.green_contexts\n")
    code = "import compat\ntry:\n    compat.ask()\nexcept AttributeError as error:\n    print(error)"
    assert "asked for by compat:5" in program("-m", "shim_torch_proxy", "run", "-c", code)


def test_the_wheel_has_every_package():
    if not PROJECT.exists():
        pytest.skip("needs the source tree")
    packages = re.findall(r"^wheel.packages = \[(.*)\]$", PROJECT.read_text(), re.MULTILINE)[0]
    found = {place.parent.name for place in PROJECT.parent.glob("*/__init__.py")}
    assert set(re.findall(r'"(\w+)"', packages)) == found
