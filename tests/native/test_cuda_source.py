"""Our CUDA kernels compile for every operator and the dtypes it has; needs NVRTC and no GPU."""

import os

import pytest

from native import _core
from shim_torch.cuda._libraries import candidates

FLOATING = "frac silu gelu gelu_tanh exp expm1 log1p sqrt rsqrt tanh sigmoid erf reciprocal".split()
BOTH = "copy neg abs square relu sign floor round".split()
BINARY = "add sub mul floor_divide remainder fmod pow maximum minimum fmax fmin div_trunc".split()
TESTS = "eq lt logical_and".split()


@pytest.fixture(scope="module")
def path():
    found = [p for p in candidates("nvrtc") if os.path.exists(p)]
    if not found:
        pytest.skip("libnvrtc is not installed")
    return found[0]


def cases():
    f32, f64, i64, u8, b8 = _core.float32, _core.float64, _core.int64, _core.uint8, _core.bool
    yield from (("floating", op, f32, f32, _core.bfloat16, 1) for op in FLOATING)
    yield from ((str(d), op, d, d, d, 1) for op in BOTH for d in (f64, i64, u8))
    yield from ((str(d), op, d, d, d, 2) for op in BINARY for d in (f32, i64, u8))
    yield from ((str(d), op, d, b8, b8, 2) for op in TESTS for d in (f32, b8))
    yield from (("three", op, f32, f32, _core.float16, 3) for op in ("where", "clamp", "add_scaled"))
    yield from (("fp8", "copy", d, d, f32, 1) for d in (_core.float8_e4m3fn, _core.float8_e5m2))
    yield from (("fp8", "copy", f32, f32, d, 1) for d in (_core.float8_e4m3fn, _core.float8_e5m2))


@pytest.mark.slow
def test_kernels_compile(path):
    for i, (_, op, of, result, out, inputs) in enumerate(cases()):
        log = _core.cuda_compile_pointwise(path, op, of, result, out, inputs, i % 2 == 0, 90)
        assert log == "", f"{op} of {of}: {log}"
    assert "no operator" in _core.cuda_compile_pointwise(path, "nonsense", of, result, out, 1, True, 90)


@pytest.mark.slow
def test_reductions_compile(path):
    f32, bf16, i64, u8, b8 = _core.float32, _core.bfloat16, _core.int64, _core.uint8, _core.bool
    for op, of, compute, out in (
        ("sum", bf16, f32, bf16),
        ("sum", _core.float64, _core.float64, f32),
        ("sum", b8, i64, i64),
        ("prod", f32, f32, f32),
        ("amax", u8, u8, u8),
        ("amin", i64, i64, i64),
        ("any_of", f32, b8, b8),
        ("all_of", b8, b8, b8),
        ("softmax", bf16, f32, bf16),
    ):
        for vector in (1, 2):
            log = _core.cuda_compile_reduction(path, op, of, compute, out, vector, 90)
            assert log == "", f"{op} of {of}: {log}"
