"""Device-side asserts: which function, value and bound; then every call on the device says that it must be restarted.

Each case has a process of its own, as the CUDA context does not survive.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shim_torch as torch

HERE = Path(__file__).parent

CASES = {
    "index_select": (
        "torch.index_select(x, 0, torch.tensor([0, 4, 7], device='cuda'))",
        "index_select or embedding: index 7 is out of bounds for dimension of size 5 (block [0,0,0], thread [2,0,0])",
    ),
    "embedding": (
        "torch.nn.functional.embedding(torch.tensor([-1], device='cuda'), x.view(5, 1))",
        "index_select or embedding: index -1 is out of bounds for dimension of size 5",
    ),
    "indexing": (
        "x[torch.tensor([-6], device='cuda')]",
        "index -6 is out of bounds for dimension of size 5",
    ),
    "two_indices": (
        "x.view(5, 1)[torch.tensor([1, 2], device='cuda'), torch.tensor([0, 1], device='cuda')]",
        "index 1 is out of bounds for dimension of size 1",
    ),
    "index_put": (
        "x[torch.tensor([5], device='cuda')] = torch.ones(1, device='cuda')",
        "index_put: index 5 is out of bounds for dimension of size 5",
    ),
    "gather": (
        "torch.gather(x, 0, torch.tensor([5], device='cuda'))",
        "gather: index 5 is out of bounds for dimension of size 5",
    ),
    "scatter_add": (
        "torch.zeros(3, device='cuda').scatter_add_(0, torch.tensor([0, 9, 1], device='cuda'), x[:3].contiguous())",
        "scatter_add or index_add: index 9 is out of bounds for dimension of size 3",
    ),
    "scatter_reduce": (
        "x.scatter_reduce(0, torch.tensor([8], device='cuda'), x[:1].contiguous(), 'amax')",
        "scatter_reduce or index_reduce: index 8 is out of bounds for dimension of size 5",
    ),
    "masked_scatter": (
        "torch.zeros(4, device='cuda').masked_scatter_(torch.ones(4, dtype=torch.bool, device='cuda'), x[:2])",
        "masked_scatter: the mask is true at 4 places, and source has 2 elements",
    ),
    "multinomial": (
        "torch.multinomial(torch.tensor([[1.0, 1.0], [1.0, -2.0]], device='cuda'), 3, True)",
        "multinomial: probability -2 is negative, infinite or not a number",
    ),
    "multinomial_sum": (
        "torch.multinomial(torch.zeros(2, 3, device='cuda'), 3, True)",
        "multinomial: the sum of a row's probabilities is not above 0",
    ),
    "embedding_bag": (
        "torch.nn.functional.embedding_bag(torch.tensor([[1, 6]], device='cuda'), x.view(5, 1))",
        "embedding_bag: index 6 is out of bounds for a table of 5 rows",
    ),
    "nll_loss": (
        "torch.nn.functional.nll_loss(x.view(1, 5), torch.tensor([5], device='cuda'))",
        "nll_loss or cross_entropy: target 5 is out of bounds for 5 classes",
    ),
    "cross_entropy": (
        "torch.nn.functional.cross_entropy(x.view(1, 5), torch.tensor([-2], device='cuda'))",
        "nll_loss or cross_entropy: target -2 is out of bounds for 5 classes",
    ),
    "margin": (
        "torch.nn.functional.multi_margin_loss(x.view(1, 5), torch.tensor([9], device='cuda'))",
        "multi_margin_loss or multilabel_margin_loss: target 9 is out of bounds for 5 classes",
    ),
    "chance": (
        "torch.nn.functional.binary_cross_entropy(x, x, reduction='none')",
        "binary_cross_entropy: input or target 2 is not between 0 and 1",
    ),
    "mean_chance": (
        "torch.nn.functional.binary_cross_entropy(x * 0, x[:1] * 0 + torch.full((5,), 1.5, device='cuda'))",
        "binary_cross_entropy: input or target 1.5 is not between 0 and 1",
    ),
}
RESTART = "\nThe device must be restarted: the CUDA context of device 0 is broken"

SCRIPT = """
import shim_torch as torch

x, other = torch.arange(5.0).cuda(), torch.ones(3, device="cuda")
pinned, event = torch.empty(3).pin_memory(), torch.cuda.Event()
torch.cuda.synchronize()


def failure(call):
    try:
        call()
    except torch.AcceleratorError as error:
        assert error.error_code == 710, error.error_code
        return str(error)
    raise SystemExit(f"no error: {call}")


def wrong():
    WRONG
    torch.cuda.synchronize()


text = failure(wrong)
for later in (
    torch.cuda.synchronize,
    torch.cuda.current_stream().synchronize,
    lambda: event.record(),
    lambda: torch.empty(2, device="cuda"),
    lambda: other + 1,
    lambda: other.add_(1),
    lambda: other.cpu(),
    lambda: other.copy_(pinned),
    lambda: torch.ones(3).cuda(),
    lambda: other.cumsum(0),
    lambda: other.sum().item(),
):
    assert failure(later) == text, (failure(later), text)
assert torch.ones(2).sum().item() == 2
print(text)
"""


def said(code: str, script: str = SCRIPT) -> str:
    """What a process prints that runs ``script`` with ``code`` for the wrong call."""
    command = [sys.executable, "-c", script.replace("WRONG", code)]
    installed = str(Path(torch.__file__).parents[1])
    paths = [str(HERE), installed, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("case", CASES)
def test_assert(case):
    code, text = CASES[case]
    out = said(code)
    assert out.startswith("CUDA error: device-side assert triggered\n") and text in out and RESTART in out, out


def test_many_threads_leave_one_record():
    out = said("torch.index_select(x, 0, torch.full((1 << 20,), 11, device='cuda'))")
    assert "index 11 is out of bounds for dimension of size 5 (block [" in out, out


def test_wrong_address():
    pytest.importorskip("cupy")
    script = """
import cupy, pytest
import shim_torch as torch

x = torch.ones(3, device="cuda")
wild = cupy.RawKernel('extern "C" __global__ void wild(float* p) { *p = 1; }', "wild")
wild((1,), (1,), (cupy.uint64(64),))
for call in (torch.cuda.synchronize, lambda: x + 1, lambda: torch.linalg.svd(torch.eye(3, device="cuda"))):
    with pytest.raises(torch.AcceleratorError, match="(?s)illegal memory access.*The device must be restarted"):
        call()
"""
    said("", script)


def test_cupy_and_triton_are_refused():
    pytest.importorskip("triton")
    pytest.importorskip("cupy")
    script = """
from compat import enable_torch_proxy

enable_torch_proxy(scope={"triton", "gpu_kernels"})
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core
import shim_torch as torch
import gpu_kernels

x = torch.ones(1024, device="cuda")
y = torch.ones_like(x)
for _ in range(3):
    gpu_kernels.add(x, y)
eye = torch.eye(3, device="cuda")
torch.linalg.eigh(eye)
torch.index_select(x, 0, torch.tensor([2048], device="cuda"))
with pytest.raises(torch.AcceleratorError, match="index 2048 is out of bounds for dimension of size 1024"):
    torch.cuda.synchronize()
for call in (lambda: gpu_kernels.add(x, y), lambda: torch.linalg.eigh(eye)):
    with pytest.raises(torch.AcceleratorError, match="index 2048 .*\\nThe device must be restarted"):
        call()
"""
    said("", script)
