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


def test_division_by_a_number_is_by_its_reciprocal():
    numbers = np.random.default_rng(0).standard_normal(10_000).astype(np.float32)
    x = torch.from_numpy(numbers).to("cuda")
    np.testing.assert_array_equal((x / 448.0).cpu().numpy(), numbers * (np.float32(1) / np.float32(448)))
    np.testing.assert_array_equal((x / torch.full_like(x, 448.0)).cpu().numpy(), numbers / np.float32(448))
    assert torch.equal((torch.arange(12, device="cuda") / 4).cpu(), torch.arange(12) / 4)
