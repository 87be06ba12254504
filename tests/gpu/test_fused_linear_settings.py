"""The switches of matrix products on a GPU, and float8."""

from __future__ import annotations

import numpy as np
import pytest
from linear_cases import EPS, numbers, random

import shim_torch as torch
from shim_torch_linear import fused_linear, gemm_problems, legacy_linear, linear_backward_input, linear_backward_weight

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("linear_settings")


def test_tf32_is_coarser_and_switchable():
    rng = np.random.default_rng(14)
    x, w = random(rng, 128, 512), random(rng, 128, 512)
    want = numbers(x) @ numbers(w).T
    exact = np.abs(numbers(F.linear(x, w)) - want).max()
    torch.backends.cuda.matmul.allow_tf32 = True
    coarse = np.abs(numbers(F.linear(x, w)) - want).max()
    torch.backends.cuda.matmul.allow_tf32 = False
    assert exact < 1e-3 < coarse < 0.5
    assert np.abs(numbers(F.linear(x, w)) - want).max() == exact


def test_fp16_accumulation_flag():
    rng = np.random.default_rng(15)
    x, w = random(rng, 64, 256, dtype=torch.float16), random(rng, 64, 256, dtype=torch.float16)
    torch.backends.cuda.matmul.allow_fp16_accumulation = True
    try:
        got = numbers(F.linear(x, w))
    finally:
        torch.backends.cuda.matmul.allow_fp16_accumulation = False
    np.testing.assert_allclose(got, numbers(x) @ numbers(w).T, rtol=2e-2, atol=0.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_legacy_and_accuracy(dtype):
    rng = np.random.default_rng(16)
    x, w, b = random(rng, 40, 256, dtype=dtype), random(rng, 72, 256, dtype=dtype), random(rng, 72, dtype=dtype)
    want = numbers(x) @ numbers(w).T + numbers(b)
    fused = F.linear(x, w, b)
    with legacy_linear():
        unfused = F.linear(x, w, b)
        assert (unfused == torch.matmul(x, w.t()) + b).all().item()
    assert np.abs(numbers(fused) - want).max() <= np.abs(numbers(unfused) - want).max() * 1.001


def test_float8():
    if torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("float8 products need compute capability 8.9")
    rng = np.random.default_rng(17)
    a8 = torch.from_numpy(rng.standard_normal((32, 64)).astype(np.float32)).to(torch.float8_e4m3fn)
    b8 = torch.from_numpy(rng.standard_normal((48, 64)).astype(np.float32)).to(torch.float8_e4m3fn)
    exact = a8.double().numpy() @ b8.double().numpy().T
    a, b = a8.to("cuda"), b8.to("cuda").t()
    half, two = torch.tensor(0.5, device="cuda"), torch.tensor(2.0, device="cuda")
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        got = torch._scaled_mm(a, b, half, two, out_dtype=dtype)
        np.testing.assert_allclose(numbers(got), exact, rtol=2 * EPS[dtype] + 1e-5, atol=1e-2)
    bias = random(rng, 48, dtype=torch.bfloat16)
    got = torch._scaled_mm(a, b, half, two, bias=bias, out_dtype=torch.bfloat16)
    np.testing.assert_allclose(numbers(got), exact + numbers(bias), rtol=2**-6, atol=3e-2)


def test_float8_row_wise():
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("row-wise scales need compute capability 9.0")
    rng = np.random.default_rng(18)
    a8 = torch.from_numpy(rng.standard_normal((32, 64)).astype(np.float32)).to(torch.float8_e4m3fn)
    b8 = torch.from_numpy(rng.standard_normal((48, 64)).astype(np.float32)).to(torch.float8_e4m3fn)
    rows, columns = rng.uniform(0.5, 2, (32, 1)).astype(np.float32), rng.uniform(0.5, 2, (1, 48)).astype(np.float32)
    got = torch._scaled_mm(
        a8.to("cuda"),
        b8.to("cuda").t(),
        torch.from_numpy(rows).to("cuda"),
        torch.from_numpy(columns).to("cuda"),
        out_dtype=torch.bfloat16,
    )
    np.testing.assert_allclose(
        numbers(got), (a8.double().numpy() @ b8.double().numpy().T) * rows * columns, rtol=2**-6, atol=3e-2
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_float32_of_16_bit_operands(dtype):
    """One product each: its problem has the operands' dtype and a result in float32."""
    rng = np.random.default_rng(19)
    a, b, c = random(rng, 2, 72, 264, dtype=dtype), random(rng, 2, 264, 136, dtype=dtype), random(rng, 2, 72, 136)
    exact = numbers(a) @ numbers(b)
    names = ("dtype", "result", "m", "n", "k", "batch", "transposed", "epilogue")
    before = {tuple(p[name] for name in names) for p in gemm_problems()}
    calls = (
        (torch.mm(a[0], b[0], out_dtype=torch.float32), exact[0]),
        (torch.addmm(c[0], a[0], b[0], out_dtype=torch.float32), exact[0] + numbers(c[0])),
        (torch.addmm(c[0, 0].to(dtype), a[0], b[0], out_dtype=torch.float32), exact[0] + numbers(c[0, 0].to(dtype))),
        (torch.bmm(a, b, out_dtype=torch.float32), exact),
        (torch.baddbmm(c, a, b, out_dtype=torch.float32, beta=2, alpha=3), 3 * exact + 2 * numbers(c)),
        (linear_backward_input(a[0], b[0], out_dtype=torch.float32), exact[0]),
        (linear_backward_input(a[0].float(), b[0], out_dtype=torch.float32), exact[0]),
        (linear_backward_weight(a[0].t(), b[0], out_dtype=torch.float32), exact[0]),
    )
    for got, want in calls:
        assert got.dtype is torch.float32
        np.testing.assert_allclose(numbers(got), want, rtol=1e-5, atol=1e-3)
    made = {tuple(p[name] for name in names) for p in gemm_problems()} - before
    assert {problem[:2] for problem in made} == {(str(dtype).removeprefix("torch."), "float32")}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("activation, approximate", [("relu", "none"), ("gelu", "none"), ("gelu", "tanh")])
@pytest.mark.parametrize("rows", [4, 200])
def test_legacy_activations_and_gradients(dtype, activation, approximate, rows):
    """Bit for bit those of separate operators, and of products and a sum."""
    rng = np.random.default_rng(20)
    tensors = [random(rng, *s, dtype=dtype).requires_grad_() for s in ((rows, 264), (136, 264), (136,))]
    g = random(rng, rows, 136, dtype=dtype)
    with legacy_linear():
        z = torch.matmul(tensors[0], tensors[1].t()) + tensors[2]
        want = F.relu(z) if activation == "relu" else F.gelu(z, approximate=approximate)
        found = fused_linear(*tensors, activation, approximate=approximate)
        assert torch.equal(found, want)
        grads, wants = (torch.autograd.grad(y, tensors, g) for y in (found, want))
        for a, e in zip(grads, wants, strict=True):
            np.testing.assert_allclose(numbers(a), numbers(e), rtol=8 * EPS[dtype], atol=64 * EPS[dtype])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_float32_is_added_up_in_place(dtype):
    """As a loss in chunks adds up its weight's gradient: nothing of the result's size is allocated once it was measured."""
    rng = np.random.default_rng(21)
    total, want = torch.zeros(264, 136, device="cuda"), np.zeros((264, 136))
    for i in range(8):
        g, x = random(rng, 72, 264, dtype=dtype), random(rng, 72, 136, dtype=dtype)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        torch.addmm(total, g.t(), x, out_dtype=torch.float32, out=total)
        assert i < 7 or torch.cuda.max_memory_allocated() == before
        want += numbers(g).T @ numbers(x)
    np.testing.assert_allclose(numbers(total), want, rtol=1e-4, atol=1e-3)
