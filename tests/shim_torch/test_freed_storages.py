"""Memory of storages that were freed or shrunk is not read or written: errors of PyTorch 2.13 where it has one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import freed_cases
import pytest

import shim_torch as torch

HERE = Path(__file__).parent
# Samples of which the results need no values: empty ones, those of a shape, gradients that only read a shape.
NO_VALUES = re.compile(r"x2\[:0\]|dropout\(c, 1\.0|nll_loss_backward|aten\.uniform|max_pool2d_with_indices_backward")
GROUPS = ("AFTER_FREE", "ALLOWED", "AFTER_SHRINK", "WHILE_CONVERTED", "HELD")


def run(program):
    place = Path(torch.__file__).parents[1]  # where it is installed, or the source tree
    environment = os.environ | {"PYTHONPATH": str(place)}
    return subprocess.run(
        [sys.executable, str(HERE / program)], env=environment, capture_output=True, text=True, timeout=900
    )


@pytest.fixture(scope="module")
def results():
    """By group and expression; what ended the process and all after it are missing."""
    return {(group, text): got for group, text, got in map(json.loads, run("freed_cases.py").stdout.splitlines())}


@pytest.mark.parametrize(("group", "expression"), [(g, e) for g in GROUPS for e in getattr(freed_cases, g)])
def test_outcome(results, group, expression):
    expected = getattr(freed_cases, group)[expression]
    got = results[group, expression]
    assert expected is None or got.startswith(expected), got


def test_memory_is_given_back():
    """Freed memory goes at once; lent memory when the last array over it goes."""
    from shim_torch._impl.native import _core

    def pages():
        return int(Path("/proc/self/statm").read_text().split()[1])

    count = 300 << 18  # 300 MiB of float32
    quarter = (count * 4 >> 2) // 4096
    t = torch.ones(count)
    full = pages()
    array = _core.to_numpy(t)
    t.untyped_storage().resize_(0)
    assert pages() > full - quarter and array[-1] == 1
    del array
    assert pages() < full - quarter
    t.untyped_storage().resize_(count * 4)
    t.fill_(2)
    full = pages()
    t.untyped_storage().resize_(0)
    assert pages() < full - quarter


def test_every_operator():
    """Each sample of each operator, with each of its tensors' memory freed in turn: an error, no crash, no values."""
    done = run("freed_walk.py")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["counts"]["freed"] > 1000
    values = [label for outcome, label in found["others"] if outcome == "ok"]
    assert [v for v in values if not NO_VALUES.search(v)] == []
    assert [
        label for outcome, label in found["others"] if outcome != "ok" and not label.endswith("into freed memory")
    ] == []
