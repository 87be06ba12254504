"""Linear's own kernels on a GPU: column sums, few rows, gradients in one launch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from linear_cases import DTYPES, EPS, close, numbers, random

import shim_torch as torch
from shim_torch._impl.native import _core

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("linear_settings")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "rows, cols",
    [(1, 1), (1, 4096), (3, 5), (31, 257), (64, 4096), (2048, 4096), (8192, 30), (5000, 1001), (100000, 8)],
)
def test_column_sums(rows, cols, dtype):
    rng = np.random.default_rng(8)
    whole = random(rng, rows, cols + 3, dtype=dtype)
    for g in (whole, whole[:, :cols], whole[:, 1 : cols + 1]):
        first, again = (_core.function("shim::linear_backward_bias")(g) for _ in range(2))
        close(first, numbers(g).sum(0), dtype, rows)
        assert (first == again).all().item()


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 7, 8, 13, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_few_rows_measured(rows, dtype):
    """Whatever the measurement chooses is right."""
    rng = np.random.default_rng(9)
    for k, n in ((768, 3072), (96, 33), (40, 1000)):
        x, w, b = random(rng, rows, k, dtype=dtype), random(rng, n, k, dtype=dtype), random(rng, n, dtype=dtype)
        for _ in range(5):
            close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), dtype, k)
            close(F.linear(x, w), numbers(x) @ numbers(w).T, dtype, k)


@pytest.mark.parametrize("rows", [1, 3, 5, 8, 11, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_few_rows(rows, dtype):
    """Each by itself, measured, and all in one launch; the same numbers every time."""
    for flag in ("fp16_reduced", "bf16_reduced"):  # the library's split sums may be of 16 bits otherwise, as PyTorch's
        _core.gemm_flag(flag, False)
    rng = np.random.default_rng(19)
    for k, n in ((768, 3072), (1024, 16384), (72, 404), (40, 8), (4096, 20)):
        tensors = [random(rng, *s, dtype=dtype).requires_grad_() for s in ((rows, k), (n, k), (n,))]
        g = random(rng, rows, n, dtype=dtype)
        x, w, gd = numbers(tensors[0]), numbers(tensors[1]), numbers(g)
        for _ in range(4):
            close(_core.function("shim::linear_backward_input")(g, tensors[1].detach()), gd @ w, dtype, n)
            close(_core.function("shim::linear_backward_weight")(g, tensors[0].detach(), False), gd.T @ x, dtype, rows)
            close(F.linear(*tensors), x @ w.T + numbers(tensors[2]), dtype, k, product=x @ w.T)
        y = F.linear(*tensors)
        first = torch.autograd.grad(y, tensors, g, retain_graph=True)
        for got, want, length in zip(first, (gd @ w, gd.T @ x, gd.sum(0)), (n, rows, rows), strict=True):
            close(got, want, dtype, length)
        for a, b in zip(first, torch.autograd.grad(y, tensors, g), strict=True):
            assert (a == b).all().item()


@pytest.mark.parametrize("rows", [1, 5, 16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_of_few_rows_are_added_in_the_launch(rows, dtype):
    rng = np.random.default_rng(22)
    for k, n in ((768, 3072), (72, 404)):
        w, b = random(rng, n, k, dtype=dtype).requires_grad_(), random(rng, n, dtype=dtype).requires_grad_()
        total = np.zeros((n, k))
        for i in range(4):
            x, g = random(rng, rows, k, dtype=dtype).requires_grad_(), random(rng, rows, n, dtype=dtype)
            y = F.linear(x, w, b)
            before = _core.gemm_status()
            y.backward(g)
            after = _core.gemm_status()
            assert after["own_kernels"] == before["own_kernels"] + 1 and after["cublaslt"] == before["cublaslt"]
            total = total + numbers(g).T @ numbers(x)
            steps = (i + 1) * EPS[dtype]  # one rounding each time, and those of the sums
            np.testing.assert_allclose(numbers(w.grad), total, rtol=2 * steps, atol=32 * steps + 1e-12)
            close(x.grad, numbers(g) @ numbers(w), dtype, n)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_weight_and_bias_gradients_at_once(dtype):
    """However dW and db are measured to be computed best, with the weight as it is or as a transposed view."""
    rng = np.random.default_rng(23)
    for (m, k, n), transposed in itertools.product(((128, 768, 512), (300, 72, 136), (33, 40, 8)), (False, True)):
        w = random(rng, k, n, dtype=dtype).t() if transposed else random(rng, n, k, dtype=dtype)
        x, w, b = (t.requires_grad_() for t in (random(rng, m, k, dtype=dtype), w, random(rng, n, dtype=dtype)))
        for _ in range(5):
            g = random(rng, m, n, dtype=dtype)
            dw, db = torch.autograd.grad(F.linear(x, w, b), (w, b), g)
            close(dw, numbers(g).T @ numbers(x), dtype, m)
            close(db, numbers(g).sum(0), dtype, m)
            assert dw.stride() == w.stride()
    assert {p["fusion"] for p in _core.gemm_plans() if p["epilogue"] in (256, 512)} - {0}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n", [(1, 1), (5, 3), (70, 33), (3, 6000), (4000, 24), (1000, 1001)])
def test_outer_and_its_gradients(m, n, dtype):
    rng = np.random.default_rng(8)
    u, v = random(rng, m, dtype=dtype).requires_grad_(), random(rng, n, dtype=dtype).requires_grad_()
    before = _core.gemm_status()
    y, g = torch.outer(u, v), random(rng, m, n, dtype=dtype)
    after = _core.gemm_status()
    assert after["own_kernels"] == before["own_kernels"] + 1 and after["fallbacks"] == before["fallbacks"]
    exact = torch.from_numpy(np.multiply.outer(numbers(u), numbers(v))).to(dtype)
    np.testing.assert_array_equal(numbers(y), numbers(exact))
    du, dv = torch.autograd.grad(y, (u, v), g)
    close(du, numbers(g) @ numbers(v), dtype, n)
    close(dv, numbers(u) @ numbers(g), dtype, m)
