"""Cases of backward passes, Functions and the tensor protocol against what PyTorch 2.13 gave for them."""

import importlib
import json
from pathlib import Path

import pytest
from outcome import cases_of, outcome

import shim_torch

FILES = [f.stem for f in sorted(Path(__file__).parent.glob("*_cases.py"))]
CASES = {(f, name): case for f in FILES for name, case in cases_of(importlib.import_module(f)).items()}
EXPECTED = {f: json.loads(Path(__file__).with_name(f.replace("_cases", "_expected.json")).read_text()) for f in FILES}


@pytest.mark.parametrize(("file", "name"), CASES)
def test_as_pytorch(file, name):
    got = json.loads(json.dumps(outcome(shim_torch, CASES[file, name])))
    wanted = EXPECTED[file][name]
    assert got["value"] == wanted["value"]
    assert got["warnings"] == wanted["warnings"]


def test_batched_gradients_are_stacked():
    torch = importlib.import_module("shim_torch")
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x**2
    (rows,) = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True, create_graph=True)
    assert rows.tolist() == [[2, 0, 0], [0, 4, 0], [0, 0, 6]]
    (second,) = torch.autograd.grad(rows.sum(), x)
    assert second.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="we interpret the first dimension of each grad_output as the batch dimension"):
        torch.autograd.grad(x * 2, x, torch.ones(2, 2), is_grads_batched=True)
