"""The kernels of fused groups compile for CUDA; needs NVRTC and no GPU."""

import os
import random

import pytest
from recording import Recording
from test_programs import random_program
from test_row_groups import layer_norm, layouts, rms_norm, softmax

import shim_torch as torch
from shim_torch._impl.extensions.cuda_libraries import candidates
from shim_torch._impl.native import _core

with_nvrtc = pytest.mark.skipif(not any(map(os.path.exists, candidates("nvrtc"))), reason="libnvrtc is not installed")


def logs(r):
    """What the compiler says of each group that CUDA computes."""
    return _core.compile_groups(r.program, 90)


@with_nvrtc
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_floats_compile(dtype):
    x, row = torch.randn(8, 16).to(dtype), torch.randn(16).to(dtype)
    r = Recording(x, row)
    a = r.step("gelu", r.step("add.Tensor", x, row))
    b = r.step("leaky_relu", r.step("div.Tensor", a, 3), 0.1)
    c = r.step("addcmul", b, a, x, value=0.5)
    d = r.step("where.self", r.step("gt.Tensor", c, 0), c, r.step("clamp", x, -1, 1))
    e = r.step("_to_copy", d, dtype=torch.float16)
    r.returns(d, r.step("add.Tensor", e, row), r.step("silu", d))
    assert logs(r) == [""] * len(r.lines)
    assert len(r.lines) == 1


@with_nvrtc
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_images_with_channels_last_compile(dtype):
    x = torch.randn(2, 8, 5, 6).to(dtype).to(memory_format=torch.channels_last)
    a, b = torch.randn(8, 1, 1), torch.randn(2, 8, 1, 1)
    r = Recording(x, a, b)
    y = r.step("mul.Tensor", x, a)
    r.returns(r.step("relu", y), r.step("add.Tensor", x, b))
    assert logs(r) == [""]
    r = Recording(x, a)
    r.returns(r.step("sigmoid", r.step("mul.Tensor", x, a)))
    assert logs(r) == [""]


@with_nvrtc
def test_integers_and_truth_values_compile():
    x, y = torch.arange(24).reshape(4, 6).t(), torch.arange(4, dtype=torch.int32)
    r = Recording(x, y)
    a = r.step("floor_divide", r.step("add.Tensor", x, y), 7)
    d = r.step("eq.Tensor", a, y)
    e = r.step("bitwise_and.Tensor", d, r.step("bitwise_not", d))
    f = r.step("add.Tensor", e, d)
    r.returns(a, f, r.step("mul.Tensor", f, x), r.step("div.Tensor", x, y), r.step("_to_copy", x, dtype=torch.bool))
    assert logs(r) == [""]


@with_nvrtc
def test_random_groups_compile():
    found = 0
    for seed in range(6):
        torch.manual_seed(seed)
        r, known = random_program(random.Random(seed))
        r.returns(*known)
        texts = logs(r)
        assert texts == [""] * len(texts)
        found += len(texts)
    assert found >= 6


@with_nvrtc
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("written_out", [rms_norm, layer_norm, softmax])
def test_rows_compile(written_out, dtype):
    for x in list(layouts(dtype))[::2]:
        w = torch.randn(x.shape[-1]).to(dtype)
        r = Recording(x, w)
        y = written_out(r, x, w)
        r.returns(y, r.step("sum.dim_IntList", y, [-1], False), r.step("amin", y, [-1], True))
        assert logs(r) == [""] and len(r.lines) == 1
