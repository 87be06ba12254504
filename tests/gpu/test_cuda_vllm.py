"""The compiled operators of the vLLM wheel (and of FlashMLA and fa3_fwd) on a GPU, against plain operators in float64.

The wheel is used unzipped: ``pip download --no-deps vllm==0.33.0``, unzip, and put the folder on PYTHONPATH; of the
Python packages that it wants none is needed. ``benchmarks/cut_wheel.py`` makes its libraries smaller.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

import shim_torch as torch
from compat import disable_torch_proxy, enable_torch_proxy

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import wheel_cases
import wheel_cases_large
import wheel_cases_moe
import wheel_cases_more

CASES = {**wheel_cases.CASES, **wheel_cases_moe.CASES, **wheel_cases_large.CASES, **wheel_cases_more.CASES}
SCOPE = {"vllm", "flash_mla", "fa3_fwd_interface", "fa3_fwd", "fa3_fwd_config", "deep_gemm"}
# The largest difference, as a part of the largest value: half a step of the type that the result is rounded to.
ALLOWED = {"float32": 1e-5, "bfloat16": 8e-3, "float8_e4m3fn": 0.0625, "int8": 5e-3, "int32": 0.0, "int64": 0.0}

LOOSER = {"FA3 fp8": 0.1, "tf32": 2e-3}  # weights rounded to float8, products in tf32


def folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        pytest.skip(f"{package} is not there")
    return Path(spec.origin).parent


@pytest.fixture(scope="module", autouse=True)
def proxy():
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("most of these kernels are for Hopper GPUs")
    token = enable_torch_proxy(SCOPE)
    yield
    disable_torch_proxy(token)


@pytest.mark.parametrize("name", CASES)
def test_operator(name):
    package = "fa3_fwd_interface" if "fa3_fwd" in name else "flash_mla" if name.startswith("FlashMLA") else "vllm"
    folder = folder_of(package)
    case = CASES[name](wheel_cases.Maker(torch, folder if package == "fa3_fwd_interface" else folder.parent, name))
    found, expected = case.outputs(), case.reference()
    for result, right in zip(found, expected, strict=False):
        assert tuple(result.shape) == tuple(right.shape)
        kind = str(result.dtype).removeprefix("torch.")
        allowed = next((v for part, v in LOOSER.items() if part in name), ALLOWED[kind])
        error = (result.double() - right).abs().max() / right.abs().max().clamp(min=1e-30)
        assert error.item() <= allowed, (kind, error.item())


def test_operators_run_on_the_current_stream():
    make = wheel_cases.Maker(torch, folder_of("vllm").parent, "streams")
    ops, x, w = make.vllm(), make.normal(4096, 4096), make.normal(4096)
    first, second = torch.empty_like(x), torch.empty_like(x)
    ops.rms_norm(first, x, w, 1e-6)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        ops.rms_norm(second, x, w, 1e-6)
    assert not stream.query()
    stream.synchronize()
    assert torch.equal(first, second)


def test_errors_of_the_kernels_are_runtime_errors():
    ops = wheel_cases.Maker(torch, folder_of("vllm").parent, "errors").vllm()
    x = torch.ones(4, 8, device="cuda")
    with pytest.raises(RuntimeError):
        ops.static_scaled_fp8_quant(torch.empty_like(x), x.bfloat16(), torch.ones(1, device="cuda"), None)
    with pytest.raises(NotImplementedError, match="Could not run '_C::rms_norm' with arguments from the 'CPU'"):
        ops.rms_norm(torch.ones(4, 8), torch.ones(4, 8), torch.ones(8), 1e-6)


@pytest.mark.parametrize("version", [2, 3])
def test_vllm_flash_attn(version):
    folder_of("vllm")
    try:
        interface = importlib.import_module("vllm.vllm_flash_attn")
    except ImportError as error:
        pytest.skip(str(error))
    make = wheel_cases.Maker(torch, folder_of("vllm").parent, "interface")
    s = wheel_cases_large.Sequences(make, 2, 384, 8, 2, 128, "bfloat16")
    out, sums = interface.flash_attn_varlen_func(
        s.q, s.k, s.v, s.length, s.begins, s.length, s.begins, causal=True, return_softmax_lse=True, fa_version=version
    )
    for result, right in zip((out, sums), s.reference(torch, True), strict=True):
        assert ((result.double() - right).abs().max() / right.abs().max()).item() < 8e-3
