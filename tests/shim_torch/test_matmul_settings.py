"""The switches of matrix products, and the CUDA libraries' declarations where the libraries are installed."""

from __future__ import annotations

import os

import pytest

import shim_torch as torch
from shim_torch._impl.extensions.cuda_libraries import candidates
from shim_torch._impl.native import _core


@pytest.fixture
def matmul():
    m = torch.backends.cuda.matmul
    yield m
    m.allow_tf32 = False
    m.allow_fp16_reduced_precision_reduction = m.allow_bf16_reduced_precision_reduction = True
    m.allow_fp16_accumulation = False
    torch.set_float32_matmul_precision("highest")


def test_defaults_are_pytorchs(matmul):
    assert not matmul.allow_tf32 and not matmul.allow_fp16_accumulation
    assert matmul.allow_fp16_reduced_precision_reduction and matmul.allow_bf16_reduced_precision_reduction


def test_flags(matmul):
    matmul.allow_tf32 = True
    assert matmul.allow_tf32 and matmul.fp32_precision == "tf32" and torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    assert not matmul.allow_tf32
    matmul.fp32_precision = "tf32"
    assert _core.gemm_flag("allow_tf32")
    with pytest.raises(RuntimeError, match="mix of the legacy and new APIs to set the TF32 status for cublas matmul"):
        matmul.allow_tf32
    matmul.allow_fp16_reduced_precision_reduction = (False, False)
    assert not matmul.allow_fp16_reduced_precision_reduction and not _core.gemm_flag("fp16_split_k")
    with pytest.raises(RuntimeError, match="allow_splitk=False is not supported"):
        matmul.allow_bf16_reduced_precision_reduction = (True, False)
    with pytest.raises(TypeError, match="expects a bool or a tuple/list of bools"):
        matmul.allow_bf16_reduced_precision_reduction = 1
    with pytest.raises(AttributeError, match="Unknown attribute foo"):
        matmul.foo = 1
    with pytest.raises(AttributeError, match="Unknown attribute foo"):
        matmul.foo


def test_deterministic_mode_reaches_the_products():
    torch.use_deterministic_algorithms(True)
    assert _core.gemm_flag("deterministic")
    torch.use_deterministic_algorithms(False)
    assert not _core.gemm_flag("deterministic")


def test_status_names_the_cpu_library():
    assert _core.gemm_status()["cpu_library"] != "none"


def test_a_file_that_is_no_library_is_refused(tmp_path):
    file = tmp_path / "libcublasLt.so.13"
    file.write_bytes(b"nothing")
    version, why, _ = _core.cublaslt_check(str(file))
    assert version == 0 and str(file) in why


def test_environment_variable_comes_first(monkeypatch):
    monkeypatch.setenv("SHIM_CUBLASLT_PATH", "/opt/own/libcublasLt.so.13")
    assert candidates("cublasLt")[0] == "/opt/own/libcublasLt.so.13"


def installed(name):
    found = [p for p in candidates(name) if os.path.exists(p)]
    if not found:
        pytest.skip(f"lib{name} is not installed")
    return found[0]


def test_cublaslt_has_the_declared_abi():
    version, why, independent = _core.cublaslt_check(installed("cublasLt"))
    assert why == "" and version >= 120000 and independent


def test_kernels_compile():
    path = installed("nvrtc")
    for dtype in range(4):
        size, log = _core.gemm_compile_kernels(dtype, 90, path)
        assert size > 0 and log == "", log
