"""docs/coverage.md says what ``python -m compat coverage`` counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch as torch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coverage.md"


def test_the_page_has_the_table():
    if not PAGE.exists():
        pytest.skip("needs the source tree")
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    # In a process of its own: some names are there once their module was imported.
    done = subprocess.run([sys.executable, "-m", "compat", "coverage"], capture_output=True, text=True, check=True)
    assert rows == done.stdout.splitlines(), "run python -m compat coverage and put its table there"


def test_a_name_within_a_module_that_a_function_hides():
    from shim_torch_proxy.cli.coverage import found

    assert found(torch, "torch.nn.utils.weight_norm.WeightNorm") and found(torch, "torch.newaxis")
    assert not found(torch, "torch.nn.utils.weight_norm.NoSuchName") and not found(torch, "torch.no_such.name")
