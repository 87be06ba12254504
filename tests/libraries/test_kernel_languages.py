"""TileLang and TVM FFI, stock wheels, over our torch: kernels compiled for the CPU take and give our tensors.

``pip install tilelang==0.1.15 apache-tvm-ffi==0.1.12``; what is not installed is skipped.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

ADD = r"""
void add_one(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  for (int i = 0; i < x.size(0); ++i) static_cast<float*>(y.data_ptr())[i] = static_cast<float*>(x.data_ptr())[i] + 1;
}
tvm::ffi::Tensor twice(tvm::ffi::Tensor x) {
  for (int i = 0; i < x.numel(); ++i) static_cast<float*>(x.data_ptr())[i] *= 2;
  return x;
}
"""


@pytest.fixture
def scope():
    token = enable_torch_proxy({"tilelang", "tvm_ffi"})
    yield
    disable_torch_proxy(token)


def test_a_tilelang_kernel_for_the_cpu(scope):
    tilelang = pytest.importorskip("tilelang", exc_type=ImportError)
    from tilelang import language as T

    rows, columns, depth = 24, 16, 8

    @T.prim_func
    def matmul(
        a: T.Tensor((rows, depth), "float32"),
        b: T.Tensor((depth, columns), "float32"),
        c: T.Tensor((rows, columns), "float32"),
    ):
        with T.Kernel(rows, columns) as (i, j):
            c[i, j] = T.float32(0)
            for k in T.serial(depth):
                c[i, j] += a[i, k] * b[k, j]

    kernel = tilelang.compile(matmul, [2], target="c")
    a, b = torch.randn(rows, depth), torch.randn(depth, columns)
    c = kernel(a, b)
    assert type(c) is torch.Tensor
    torch.testing.assert_close(c, a @ b)
    with pytest.raises(ValueError, match=r"torch\.float32, got torch\.float64"):
        kernel(a.double(), b)
    with pytest.raises(ValueError, match="expected 8 at index 0, got 4"):
        kernel(a, b[:4])


def test_tilelang_kernels_for_a_gpu_as_sources(scope, monkeypatch):
    """Those that tests/gpu runs, as far as they go without a CUDA compiler."""
    tilelang = pytest.importorskip("tilelang", exc_type=ImportError)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    kernels = importlib.import_module("tilelang_kernels")
    target = tilelang.tvm.target.Target({"kind": "cuda", "arch": "sm_90"})
    for function, wanted in ((kernels.softmax, "expf"), (kernels.norm, "rsqrtf"), (kernels.product(64), "mma")):
        with target:
            source = tilelang.lower(function, target=target, enable_device_compile=False).kernel_source
        assert "__global__" in source and wanted in source
    sys.modules.pop("tilelang_kernels")


def test_tilelang_times_a_function_by_the_clock(scope):
    pytest.importorskip("tilelang", exc_type=ImportError)
    from tilelang.profiler import do_bench

    calls = []
    x = torch.ones(100)
    times = do_bench(
        lambda: calls.append(x + x), backend="wall", device="cpu", _n_warmup=1, _n_repeat=4, quantiles=[0, 1]
    )
    assert 0 < times[0] <= times[1] and len(calls) >= 5


def test_a_function_of_tvm_ffi_compiled_here(scope, tmp_path, monkeypatch):
    pytest.importorskip("tvm_ffi")
    import tvm_ffi.cpp

    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path))
    module = tvm_ffi.cpp.load_inline(name="shim_test", cpp_sources=ADD, functions=["add_one", "twice"])
    x = torch.arange(4.0)
    y = torch.empty_like(x)
    module.add_one(x, y)
    assert y.tolist() == [1, 2, 3, 4]
    z = module.twice(y)
    assert isinstance(z, torch.Tensor) and z.data_ptr() == y.data_ptr()
    assert y.tolist() == [2, 4, 6, 8]
    with pytest.raises(TypeError):
        module.add_one(x, "y")
