"""What test_simulated_cuda.py runs of our own kernels for few rows, sums and activations, in an interpreter that sees the simulated GPU."""

from __future__ import annotations

import itertools

from comparison import EPS, close, numbers, random

import shim_torch as torch
from shim_torch._impl.native import _core

F = torch.nn.functional


def kernels():
    sums = _core.function("shim::linear_backward_bias")
    for dtype, (rows, cols) in itertools.product(EPS, ((1, 1), (3, 5), (40, 33), (200, 70), (131, 260))):
        whole = random(rows, cols + 3, dtype=dtype)
        for g in (whole, whole[:, :cols], whole[:, 1 : cols + 1]):
            for _ in range(2):  # the counters are back at zero after the first
                close(sums(g), numbers(g).sum(0), dtype, 16)
    slope = _core.function("shim::activation_backward")
    both = _core.function("shim::activation_backward_bias")
    for dtype, name, cols in itertools.product(EPS, ("relu", "gelu", "gelu_tanh"), (21, 264)):
        g, z = random(70, cols, dtype=dtype), random(70, (cols + 7) & ~7, dtype=dtype)[:, :cols]
        want = slope(*(torch.from_numpy(numbers(t)) for t in (g, z)), name)
        close(slope(g, z, name), numbers(want), dtype, 8)
        dz, db = both(g, z, name)
        close(dz, numbers(want), dtype, 8)
        close(db, numbers(want).sum(0), dtype, 24)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def few_rows():
    """By the simulated clock our own kernel wins wherever it fits."""
    for dtype, rows in itertools.product(EPS, (1, 2, 3, 5, 9, 16)):
        x, w, b = random(rows, 48, dtype=dtype), random(19, 48, dtype=dtype), random(19, dtype=dtype)
        for _ in range(3):
            close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), dtype)
        before = _core.gemm_status()
        close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), dtype)
        after = _core.gemm_status()
        assert after["own_kernels"] == before["own_kernels"] + 1 and after["cublaslt"] == before["cublaslt"]
    print("ok")


def skinny():
    """Gradients of few rows: each by a kernel of its own once measured, and all of them in one launch."""
    dx, dw = _core.function("shim::linear_backward_input"), _core.function("shim::linear_backward_weight")
    shapes = ((1, 24, 8), (3, 136, 72), (9, 20, 136), (16, 268, 16))
    for dtype, (rows, n, k) in itertools.product(EPS, shapes):
        x, w, g = random(rows, k, dtype=dtype), random(n, k, dtype=dtype), random(rows, n, dtype=dtype)
        for _ in range(4):
            before = _core.gemm_status()
            close(dx(g, w), numbers(g) @ numbers(w), dtype)
            close(dw(g, x, False), numbers(g).T @ numbers(x), dtype)
            after = _core.gemm_status()
        assert after["own_kernels"] == before["own_kernels"] + 2 and after["cublaslt"] == before["cublaslt"], (
            dtype,
            rows,
            n,
            k,
        )
        close(F.linear(x, w), numbers(x) @ numbers(w).T, dtype)
        for needs in itertools.product((False, True), repeat=3):
            tensors = [
                t.detach().requires_grad_(need) for t, need in zip((x, w, random(n, dtype=dtype)), needs, strict=True)
            ]
            if sum(needs) < 2:
                continue
            y = F.linear(*tensors)
            before = _core.gemm_status()["own_kernels"]
            y.backward(g)
            assert _core.gemm_status()["own_kernels"] == before + 1
            wants = (numbers(g) @ numbers(w), numbers(g).T @ numbers(x), numbers(g).sum(0))
            for t, need, want in zip(tensors, needs, wants, strict=True):
                assert (t.grad is not None) == need
                if need:
                    close(t.grad, want, dtype, 8)
    print("ok")
