"""TileLang's wheel (0.1.15) on the GPU beside plain operators: rows, a product that it tunes, its timing.

Its kernels are compiled by nvcc; skipped where that or the wheel is not installed.
"""

import importlib
import math
import sys
from pathlib import Path

import pytest

import shim_torch as torch

sys.path.insert(0, str(Path(__file__).parents[1] / "libraries"))


@pytest.fixture
def kernels(seeded):
    pytest.importorskip("tilelang", exc_type=ImportError)
    if not importlib.import_module("tilelang.env").CUDA_HOME:
        pytest.skip("TileLang compiles its kernels with nvcc, and finds none")
    return importlib.import_module("tilelang_kernels")


def test_rows(kernels):
    x = torch.randn(kernels.ROWS, kernels.COLUMNS, device="cuda", dtype=torch.float16)
    w = torch.randn(kernels.COLUMNS, device="cuda", dtype=torch.float16)
    exact = x.cpu().double()
    found = kernels.tilelang.compile(kernels.softmax, [1], target="cuda")(x)
    torch.testing.assert_close(found.cpu().double(), exact.softmax(-1), rtol=2e-3, atol=1e-5)
    found = kernels.tilelang.compile(kernels.norm, [2], target="cuda")(x, w)
    exact = torch.nn.functional.rms_norm(exact, (kernels.COLUMNS,), w.cpu().double(), 1e-6)
    torch.testing.assert_close(found.cpu().double(), exact, rtol=2e-3, atol=1e-3)


def test_a_tuned_product_and_its_time(kernels):
    from tilelang.profiler import do_bench

    a, b = (torch.randn(kernels.SIZE, kernels.SIZE, device="cuda", dtype=torch.float16) for _ in range(2))
    kernel = kernels.tuned()
    torch.testing.assert_close(
        kernel(a, b).cpu().double(), (a.cpu().double() @ b.cpu().double()).relu(), rtol=1e-2, atol=1e-2
    )
    assert kernel.config["block"] in (64, 128)
    for time in (
        do_bench(lambda: kernel(a, b), warmup=3, rep=10),
        *do_bench(lambda: kernel(a, b), quantiles=[0.2, 0.8]),
    ):
        assert math.isfinite(time) and time > 0
