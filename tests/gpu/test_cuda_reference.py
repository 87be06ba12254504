"""The cases of tests/reference on CUDA, against the stored answers of PyTorch's CPU (make test-reference writes them)."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REFERENCE = HERE.parent / "reference"
ANSWERS = Path(os.environ.get("SHIM_TORCH_REFERENCE_ANSWERS", HERE.parents[1] / "build" / "reference-answers"))
KNOWN = HERE / "known_differences.txt"  # operator -> how many cases may differ
SHARDS = 12
# What is printed tells the device.
FAMILIES = sorted({p.stem for p in ANSWERS.glob("*.pickle")} - {"printing"}) if ANSWERS.is_dir() else []
SCRIPT = """
import pickle, sys
sys.path[:0] = [{reference!r}, {root!r}]
from _compare import evaluate
from _difference import compare
from _report import operator
import shim_torch
shim_torch.set_default_device("cuda")  # of what the cases make themselves
shim_torch.backends.cudnn.allow_tf32 = False
with open({file!r}, "rb") as f:
    cases, answers = pickle.load(f)
pairs = list(zip(cases, answers))[{shard}::{shards}]
# An index out of range ends the CUDA context, as in PyTorch. What only the CPU refuses says nothing about CUDA: dtypes its kernels
# lack, integers divided by zero, resizing of the arrays that inputs are made of.
SKIPPED = ("out of bounds", "out of range", "number of ones in mask", "storage that is not resizable", "ZeroDivisionError", "_cpu")
pairs = [p for p in pairs if not any(text in str(p[1].get("error", "")) + str(p[1].get("grad", "") if isinstance(p[1].get("grad"), tuple) else "") for text in SKIPPED)]
cases, answers = [p[0] for p in pairs], [p[1] for p in pairs]
found = [(operator(c), c.name + "\\n        " + str(compare(c, mine, theirs))[:300])
         for c, mine, theirs in zip(cases, evaluate("shim_torch", cases), answers) if compare(c, mine, theirs)]
pickle.dump((len(cases), found), sys.stdout.buffer)
"""


def known() -> dict[str, int]:
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    return {name: int(count) for count, name in (line.split(" ", 1) for line in lines if line[:1] != "#")}


@pytest.mark.skipif(not FAMILIES, reason="no answers of PyTorch: run make test-reference")
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("family", FAMILIES)
def test_family(family, shard):
    """In a process of its own: its tensors are made on CUDA (SHIM_TORCH_REFERENCE_DEVICE)."""
    code = SCRIPT.format(
        reference=str(REFERENCE),
        root=str(HERE.parents[1]),
        file=str(ANSWERS / f"{family}.pickle"),
        shard=shard,
        shards=SHARDS,
    )
    environment = {**os.environ, "SHIM_TORCH_REFERENCE_DEVICE": "cuda"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    total, found = pickle.loads(done.stdout)
    allowed, counts = known(), Counter(name for name, _ in found)
    report = os.environ.get("SHIM_TORCH_REFERENCE_REPORT")
    if report:
        lines = [re.sub(r"\s+", " ", f"{name} | {text}") for name, text in found]
        Path(report, f"{family}.{shard}.txt").write_text("\n".join([f"{total} cases, {len(found)} differ", *lines]))
    worse = [text for name, text in found if counts[name] > allowed.get(name, 0)]
    assert not worse, f"{len(worse)} of {total} cases differ:\n" + "\n".join(worse[:30])
