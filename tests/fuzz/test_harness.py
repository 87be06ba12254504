"""What the fuzz targets report: each way in which a case can go wrong, with the number that repeats it."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TARGET = """
import os, signal, sys, time
sys.path.insert(0, {here!r})
import harness
harness.HANG = 3

class Case:
    def __init__(self, i):
        self.i, self.kind = i, "case"
    def __call__(self):
        print("not a report")
        if self.i == 5:
            {does}

raise SystemExit(harness.main("", __file__, lambda given: Case, frozenset(["ValueError"])))
"""


def run(tmp_path, does, *arguments):
    target = tmp_path / "target.py"
    target.write_text(TARGET.format(here=str(HERE), does=does))
    done = subprocess.run(
        [sys.executable, str(target), *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    "does, text",
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("os._exit(3)", "ended by exit code 3"),
        ("time.sleep(60)", "no end after"),
        ("raise SystemError('wrong')", "SystemError from target.py:__call__: wrong"),
        ("raise harness.Finding('it leaks')", "it leaks"),
        ("bytearray(8 << 30)", "MemoryError"),
    ],
)
def test_found(tmp_path, does, text):
    code, out = run(tmp_path, does, "--count", "20")
    assert code == 1 and text in out and "--seed 0 --only 5" in out
    assert "20 cases" in out or does.startswith("time")


@pytest.mark.parametrize("does", ["pass", "raise ValueError('allowed')", "raise NotImplementedError"])
def test_nothing_found(tmp_path, does):
    code, out = run(tmp_path, does, "--count", "20")
    assert code == 0 and "20 cases" in out and "FINDING" not in out


def test_time_and_one_case(tmp_path):
    code, out = run(tmp_path, "pass", "--seconds", "1")
    assert code == 0 and "0 findings" in out
    assert run(tmp_path, "os._exit(7)", "--only", "5")[0] == 7
    assert run(tmp_path, "os._exit(7)", "--only", "4")[0] == 0


def test_a_target_that_cannot_start(tmp_path):
    target = tmp_path / "target.py"
    target.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import harness\nharness.main('', __file__, lambda given: 1 / 0, frozenset())"
    )
    done = subprocess.run([sys.executable, str(target)], capture_output=True, text=True, timeout=60, check=False)
    assert "ZeroDivisionError" in done.stdout and "FINDING start" in done.stdout
