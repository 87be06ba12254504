"""The plugin of benchmarks/libraries.py, in a suite whose conftest.py knows the tests that began in its own process only."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("xdist") is None:
    pytest.skip("pytest-xdist is not installed", allow_module_level=True)

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
CONFTEST = """
import pytest

BEGUN = {}

def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true")

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    BEGUN[item.nodeid] = None

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    BEGUN[report.nodeid]
"""
TESTS = """
import pytest

@pytest.mark.parametrize("n", range(4))
def test_cases(request, n):
    assert request.config.getoption("--quick") and n != 2
"""


def test_hooks_of_a_suite_are_called_where_its_tests_run(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_one.py").write_text(TESTS)
    record = tmp_path / "record"
    options = ["-p", "library_outcomes", "-p", "no:cacheprovider", "--record", str(record), "--keep", "2", "--quick"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "1", "--rootdir", str(tmp_path), *options, "test_one.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(BENCHMARKS)}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert {line["id"]: line["outcome"] for line in lines} == {
        "test_one.py::test_cases[0]": "passed",
        "test_one.py::test_cases[2]": "failed",
    }
