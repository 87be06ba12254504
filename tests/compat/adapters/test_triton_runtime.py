"""Triton's driver, autotuner, benchmarks and descriptors on our tensors."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import shim_torch as torch
from compat import torch_proxy

if importlib.util.find_spec("triton") is None:  # not importorskip: Triton is to be imported in scope
    pytest.skip("Triton is not installed", allow_module_level=True)
if torch.cuda.is_available():
    pytest.skip("the interpreter is for machines with no GPU", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
with torch_proxy({"triton"}):
    import kernels_for_triton as kernels
    import triton
    from triton.testing import do_bench
    from triton.tools.tensor_descriptor import TensorDescriptor


def numbers(t: torch.Tensor) -> np.ndarray:
    return t.double().numpy()


def test_driver():
    active = triton.runtime.driver.active
    target = active.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("cpu", 0, 1)
    assert active.get_active_torch_device() == torch.device("cpu")
    assert active.get_current_device() == 0
    assert active.get_current_stream(0) == 0
    assert active.utils.get_device_properties(0)["multiprocessor_count"] == 1


def test_autotune_and_heuristics():
    x, y = torch.arange(100.0), torch.ones(100)
    kernels.tuned_add[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, y, 100)
    assert y.tolist() == [i + 1.0 for i in range(100)]
    assert kernels.tuned_add.best_config.kwargs["BLOCK"] == 32


def test_do_bench_measures():
    assert 0 < do_bench(lambda: sum(range(1000)), warmup=1, rep=2) < 1000
    low, high = do_bench(lambda: None, warmup=1, rep=1, quantiles=[0.2, 0.8])
    assert 0 < low <= high


def test_benchmark_report(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    benchmark = triton.testing.Benchmark(["n"], [1, 2], "how", ["a"], ["A"], "plot", {}, ylabel="ms")

    @triton.testing.perf_report(benchmark)
    def measure(n, how):
        return do_bench(lambda: n, warmup=1, rep=1)

    measure.run(save_path=str(tmp_path), print_data=True)
    assert (tmp_path / "plot.csv").exists()


def test_tensor_descriptor():
    x, y = torch.randn(32, 16), torch.zeros(32, 16)
    source, target = (TensorDescriptor.from_tensor(t, [16, 16]) for t in (x, y))
    kernels.copy_tile[(2,)](source, target, BLOCK=16)
    assert torch.equal(x, y)


def test_warmup_returns_a_kernel_that_launches():
    kernel = kernels.tanh.warmup(torch.float32, torch.float32, BLOCK=16, num_warps=8, grid=(1,))
    kernel._init_handles()
    assert kernel.metadata.num_warps == 8
    assert kernel.metadata.shared and kernel.n_regs  # occupancy formulas divide by them
    x = torch.linspace(0, 1, 16)
    y = torch.empty(16)
    kernel[(1, 1, 1)](x, y, 16)
    np.testing.assert_allclose(numbers(y), np.tanh(numbers(x)), rtol=1e-6)
