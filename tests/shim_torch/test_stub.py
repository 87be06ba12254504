"""``shim_torch/__init__.pyi``: what mypy says of code that uses torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch

PROGRAM = """
import shim_torch as torch

x = torch.zeros(2, 3, dtype=torch.float32, requires_grad=True)
reveal_type(x.relu().sum(0, keepdim=True))
reveal_type(torch.max(x, 0))
reveal_type(x.shape)
reveal_type(x + 1)
reveal_type(x.dtype.itemsize)
torch.add(x, torch.ones(3), alpha=2, out=torch.empty(2, 3))
x.view(3, 2), x.reshape((6,)), torch.full((2,), 3.0, device="cpu")
torch.add(x, "three")
x.no_such_method_of_a_module(torch.no_such_function)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    pytest.importorskip("mypy")
    folder = tmp_path_factory.mktemp("stub")
    (folder / "program.py").write_text(PROGRAM)
    place = Path(shim_torch.__file__).parents[1]
    installed = place.name in (
        "site-packages",
        "dist-packages",
    )  # mypy finds it there, and refuses the folder as a path
    environment = os.environ | ({} if installed else {"MYPYPATH": str(place)})
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--ignore-missing-imports",
        "--cache-dir",
        str(folder),
        "program.py",
    ]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stderr  # the program has errors
    return done.stdout


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (5, 'Revealed type is "shim_torch.Tensor"'),
        (6, 'Revealed type is "tuple[shim_torch.Tensor, shim_torch.Tensor]"'),
        (7, 'Revealed type is "shim_torch.Size"'),
        (8, 'Revealed type is "shim_torch.Tensor"'),
        (9, 'Revealed type is "int"'),
        (12, 'No overload variant of "add" matches argument types "Tensor", "str"'),
        (13, 'has no attribute "no_such_function"'),
    ],
)
def test_what_mypy_says(said, line, text):
    assert any(row.startswith(f"program.py:{line}:") and text in row for row in said.splitlines()), said


def test_right_calls_are_no_errors(said):
    assert not [
        row for row in said.splitlines() if row.startswith(("program.py:10:", "program.py:11:")) and "error" in row
    ], said
