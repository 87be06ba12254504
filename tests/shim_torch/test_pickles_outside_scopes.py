"""Plain pickle where ``torch`` is nobody's name: instances are written with names that can be loaded there."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch as torch

ROOT = Path(torch.__file__).parents[1]


def layer():
    made = torch.nn.TransformerEncoderLayer(8, 2, activation=torch.nn.functional.gelu)
    made.kind, made.python, made.operator = torch.nn.Linear, os.path.join, torch.relu
    return made


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_functions_and_classes_of_a_layer(tmp_path, protocol):
    made = layer()
    (tmp_path / "layer.pkl").write_bytes(pickle.dumps(made, protocol))
    code = (
        "import pickle, sys, os\n"
        "layer = pickle.load(open('layer.pkl', 'rb'))\n"
        "torch = sys.modules['shim_torch']\n"
        "assert layer.activation is torch.nn.functional.gelu and layer.kind is torch.nn.Linear\n"
        "assert layer.python is os.path.join and layer.operator is torch.relu\n"
        "print(layer.eval()(torch.ones(1, 2, 8)).sum().item())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(made.eval()(torch.ones(1, 2, 8)).sum().item())


def test_copies_have_the_functions_themselves():
    made = layer()
    for other in (copy.copy(made), copy.deepcopy(made)):
        assert other.activation is made.activation and other.kind is torch.nn.Linear and other.operator is torch.relu


def test_by_itself_a_class_or_function_says_that_it_is_not_found():
    for value in (torch.nn.Linear, torch.nn.functional.relu, torch.relu):
        with pytest.raises(pickle.PicklingError, match="Can't pickle"):
            pickle.dumps(value)


def test_by_itself_it_is_pickled_and_loaded_where_torch_is_ours():
    """As docs/scope.md says: in a block of the whole process, and in code in scope."""
    code = """
import functools, pickle, sys
import shim_torch
from compat import enable_torch_proxy, torch_proxy
values = shim_torch.nn.Linear, shim_torch.nn.functional.cross_entropy, shim_torch.relu
with torch_proxy():
    written = [pickle.dumps(value) for value in values]
    assert all(pickle.loads(text) is value for text, value in zip(written, values))
assert "torch" not in sys.modules
for text in written:
    try:
        pickle.loads(text)
    except ModuleNotFoundError as error:
        assert "torch" in str(error)
    else:
        raise AssertionError("torch is somebody's name")
enable_torch_proxy({"__main__"})
assert all(pickle.loads(pickle.dumps(value)) is value for value in values)
assert [pickle.loads(text) for text in written] == list(values)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
