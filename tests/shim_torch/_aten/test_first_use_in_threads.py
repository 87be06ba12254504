"""Threads that ask for the same operator first: each finds it, whichever of them defines it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shim_torch._impl import native

INSTALLED = str(Path(native.__file__).parents[3])  # the folder the packages under test are in

PROGRAM = """
import sys, threading
import shim_torch as torch
sys.setswitchinterval(1e-6)
from shim_torch._impl.native import _core

found = []
def ask(barrier, name, overload):
    barrier.wait()
    found.append(getattr(getattr(torch.ops.aten, name), overload)._schema is not None)

for name, overload in (("mul", "Scalar"), ("add", "Scalar"), ("div", "Scalar_out"), ("exp", "out")):
    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=ask, args=(barrier, name, overload)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
print(len(found), all(found))
"""


def test_every_thread_finds_the_operator():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=INSTALLED)
        assert done.stdout.split() == ["16", "True"], done.stdout + done.stderr[-2000:]
