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
