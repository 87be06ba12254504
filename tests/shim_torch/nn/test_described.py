"""Modules, their state, conversions and first values against what PyTorch 2.13 gave for the same expressions."""

import importlib
import json
from pathlib import Path

import pytest
from described import expressions, outcome, same, stored

import shim_torch

MODULES = {f.stem: importlib.import_module(f.stem) for f in sorted(Path(__file__).parent.glob("*_cases.py"))}


@pytest.mark.parametrize(("name", "expression"), [(n, e) for n, m in MODULES.items() for e in expressions(m)])
def test_as_pytorch(name, expression):
    wanted = stored(name)[expression]
    got = json.loads(json.dumps(outcome(shim_torch, MODULES[name], expression)))
    assert same(got, wanted), (got, wanted)
