"""CuPy, loaded by the first operator that needs it, takes over the stream that is current at that moment."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np

import shim_torch as torch

SCRIPT = """
import sys
import shim_torch as torch
stream = torch.cuda.Stream()
with torch.cuda.stream(stream):
    assert "cupy" not in sys.modules
    before = torch.cuda.current_stream().cuda_stream
    torch.cuda._sleep(1000)
    import cupy
    assert torch.cuda.current_stream().cuda_stream == before == stream.cuda_stream
    assert cupy.cuda.get_current_stream().ptr == before
assert torch.cuda.current_stream().cuda_stream == 0 == cupy.cuda.get_current_stream().ptr
"""


def test_stream_stays_current_when_cupy_is_loaded():
    subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT)], check=True)


OPERATORS_ALONE = """
import shim_torch as torch
x = torch.arange(6, device="cuda").reshape(2, 3)
torch.sort(x, dim=1)[0].flip(0)  # operators that run on CuPy; nothing of torch.cuda is called
from shim_torch._impl.arrays import namespace
xp = namespace("cuda")
import cupy
before = torch.cuda.memory_allocated()
held = cupy.zeros(1 << 20, dtype="uint8")
assert torch.cuda.memory_allocated() >= before + (1 << 20), (before, torch.cuda.memory_allocated())
assert cupy.get_default_memory_pool().total_bytes() == 0
"""


def test_operators_alone_make_cupy_use_our_memory():
    subprocess.run([sys.executable, "-c", textwrap.dedent(OPERATORS_ALONE)], check=True)


def test_division_by_a_number_is_by_its_reciprocal():
    numbers = np.random.default_rng(0).standard_normal(10_000).astype(np.float32)
    x = torch.from_numpy(numbers).to("cuda")
    np.testing.assert_array_equal((x / 448.0).cpu().numpy(), numbers * (np.float32(1) / np.float32(448)))
    np.testing.assert_array_equal((x / torch.full_like(x, 448.0)).cpu().numpy(), numbers / np.float32(448))
    assert torch.equal((torch.arange(12, device="cuda") / 4).cpu(), torch.arange(12) / 4)
