"""Tests about GPUs: skipped where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import shim_torch as torch
from shim_torch._impl.arrays import counters
from shim_torch._impl.native import _core

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    if not torch.cuda.is_available():
        skip = pytest.mark.skip(reason=f"needs a CUDA device: {_core.cuda_why_not()}")
        for item in items:
            if HERE in Path(item.path).parents:
                item.add_marker(skip)


def pytest_configure(config):
    """The kernel languages and libraries under test get our torch, in this process."""
    if torch.cuda.is_available():
        from compat import enable_torch_proxy

        libraries = {"liger_kernel", "conch", "triton_kernels", "flag_gems", "fla", "gemlite", "flashinfer", "quack"}
        enable_torch_proxy(scope={"triton", "tilelang", "tvm_ffi", "gpu_kernels"} | libraries)


@pytest.fixture
def seeded():
    torch.manual_seed(0)


@pytest.fixture
def on_our_kernels():
    """A seeded test in which nothing is computed by CuPy."""
    torch.manual_seed(0)
    before = counters["CuPy calls"]
    yield
    assert counters["CuPy calls"] == before


@pytest.fixture
def linear_settings():
    """The switches of matrix products as they are at the start, after a test that turns some."""
    yield
    torch.backends.cuda.matmul.allow_tf32 = False
    _core.gemm_flag("tuning", True)
    _core.gemm_flag("always_fuse", False)
    _core.gemm_flag("direct", True)
    _core.gemm_flag("deterministic", False)
    _core.gemm_flag("fp16_reduced", True)
    _core.gemm_flag("bf16_reduced", True)


@pytest.fixture
def the_current_device_stays():
    """Device 0 is current before a test of two GPUs, and after it."""
    torch.manual_seed(0)
    torch.cuda.set_device(0)
    yield
    assert torch.cuda.current_device() == 0
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
