"""Where memory runs out, an operator raises: the process is not ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shim_torch._impl import native

PLACE = Path(native.__file__).parents[3]  # where it is installed, or the source tree

# Each operator runs in a child that may have no more memory than it has, after all of the heap was used up but for `slack` blocks
# of a kilobyte and room for the stacks of some threads.
PROGRAM = """
import json, mmap, os, resource, signal, sys
import shim_torch as torch

torch.set_num_threads(4)
a, m, leaf = torch.ones(1 << 20), torch.ones(512, 512), torch.ones(1 << 18, requires_grad=True)
chain = torch.ones(4, requires_grad=True)
for _ in range(100):
    chain = chain + 1
calls = {
    "sum": lambda: a.sum(),
    "softmax": lambda: m.softmax(-1),
    "exp": lambda: a.exp(),
    "sort": lambda: a.sort(),
    "backward": lambda: (leaf * leaf).exp().sum().backward(),
    "backward of a chain": lambda: chain.sum().backward(),
    "views that are freed": lambda: [a[i : i + 1] for i in range(2000)] and None,
    "blocks that are freed": lambda: [torch.empty(16) for _ in range(2000)] and None,
}

STACK = max(resource.getrlimit(resource.RLIMIT_STACK)[0], 2 << 20)  # -1, unlimited: 2 MiB

def size():
    return int(open("/proc/self/statm").read().split()[0]) * mmap.PAGESIZE

def exhaust(slack, stacks):
    room = mmap.mmap(-1, stacks * STACK) if stacks else None
    held = [bytes(1000) for _ in range(slack)]
    resource.setrlimit(resource.RLIMIT_AS, (size(), -1))
    hog = None
    for block in (1 << 20, 1 << 16, 1 << 12, 700, 300, 60, 0):
        try:
            while True:
                hog = (hog, bytes(block))
        except MemoryError:
            pass
    del held
    if room:
        room.close()
    return hog

def run(call, slack, stacks):
    hog = exhaust(slack, stacks)
    try:
        call()
    except (MemoryError, RuntimeError):
        return 3
    return 0

ends = {}
for name, call in calls.items():
    for slack in (1, 30, 400):
        for stacks in (0, 1, 3):
            child = os.fork()
            if not child:
                signal.alarm(60)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                end = 4
                try:
                    end = run(call, slack, stacks)
                except MemoryError:
                    end = 3
                finally:
                    os._exit(end)
            ends[f"{name}, {slack}, {stacks}"] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(ends))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits an address space and looks at /proc")
def test_an_operator_without_memory_raises() -> None:
    environment = os.environ | {"PYTHONPATH": str(PLACE)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    ends = json.loads(done.stdout.splitlines()[-1])
    assert {name: end for name, end in ends.items() if end not in (0, 3)} == {}
    assert set(ends.values()) == {0, 3}  # memory did run out, and did not always
