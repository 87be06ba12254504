"""One compiled extension, built with PyTorch's stable headers, does here what it does with PyTorch."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

import shim_torch

FOLDER = Path(os.environ.get("SHIM_TORCH_REFERENCE_ANSWERS", ""))
EXPECTED = FOLDER / "stable_abi.txt"


@pytest.mark.skipif(not EXPECTED.is_file(), reason="no extension built with PyTorch: run make test-reference")
def test_extension_prints_the_same():
    spec = importlib.util.spec_from_file_location("program", Path(__file__).parent / "stable_abi" / "program.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    assert program.lines(shim_torch, str(FOLDER / "extension.so")) == EXPECTED.read_text().splitlines()
