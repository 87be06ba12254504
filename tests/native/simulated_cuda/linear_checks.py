"""What test_simulated_cuda.py runs of linear by cuBLASLt, in an interpreter that sees the simulated GPU."""

from __future__ import annotations

import itertools
import math

import numpy as np
from comparison import EPS, close, numbers, random

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch_linear import legacy_linear

F = torch.nn.functional


def linear():
    shapes = [
        ((3,), 4),
        ((8,), 8),
        ((8, 3), 4),
        ((0, 3), 4),
        ((2, 3, 8), 8),
        ((21, 13), 11),
        ((5, 1), 7),
        ((5, 7), 1),
        ((1, 1), 1),
        ((4, 3), 0),
    ]
    for dtype, (shape, n) in itertools.product(EPS, shapes):
        x, w, b = random(*shape, dtype=dtype), random(n, shape[-1], dtype=dtype), random(n, dtype=dtype)
        for t in (x, w, b):
            t.requires_grad_()
        for _ in range(4):
            y = F.linear(x, w, b)
            g = random(*y.shape, dtype=dtype)
            dx, dw, db = torch.autograd.grad(y, (x, w, b), g)
            xd, wd, bd, gd = map(numbers, (x, w, b, g))
            rows = math.prod(shape[:-1])
            close(y, xd @ wd.T + bd, dtype)
            close(dx, gd @ wd, dtype)
            close(dw, gd.reshape(rows, n).T @ xd.reshape(rows, shape[-1]), dtype)
            close(db, gd.reshape(rows, n).sum(0), dtype, 8)
    status = _core.gemm_status()
    assert (
        status["fallbacks"] == 0 and status["cublaslt"] > 100 and status["own_kernels"] > 10 and status["tuned"] > 10
    ), status
    print("ok")


def accumulation():
    for dtype in EPS:
        w, total = random(16, 8, dtype=dtype).requires_grad_(), np.zeros((16, 8))
        for _ in range(5):
            x, g = random(6, 8, dtype=dtype), random(6, 16, dtype=dtype)
            F.linear(x, w).backward(g)
            total += numbers(g).T @ numbers(x)
            close(w.grad, total, dtype, 16)
    for dtype, rows in itertools.product(EPS, (3, 11)):  # few rows: with the other gradients, in one launch
        w, b, total = (
            random(24, 16, dtype=dtype).requires_grad_(),
            random(24, dtype=dtype).requires_grad_(),
            np.zeros((24, 16)),
        )
        for i in range(4):
            x, g = random(rows, 16, dtype=dtype).requires_grad_(), random(rows, 24, dtype=dtype)
            y = F.linear(x, w, b)
            before, version = _core.gemm_status(), w.grad._version if i else 0
            y.backward(g)
            after = _core.gemm_status()
            assert after["own_kernels"] == before["own_kernels"] + 1 and after["cublaslt"] == before["cublaslt"]
            assert not i or w.grad._version > version
            total += numbers(g).T @ numbers(x)
            close(w.grad, total, dtype, 16)
            close(x.grad, numbers(g) @ numbers(w), dtype)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def strided(rows, cols, dtype):
    yield random(rows, cols, dtype=dtype)
    yield random(cols, rows, dtype=dtype).t()
    yield random(rows, cols + 3, dtype=dtype)[:, :cols]
    yield random(cols, rows + 3, dtype=dtype)[:, :rows].t()
    for offset in (1, 2, 4):
        yield random(rows, cols + 8, dtype=dtype)[:, offset : offset + cols]


def views():
    for dtype in (torch.float32, torch.bfloat16):
        for x, w in itertools.product(strided(6, 8, dtype), strided(16, 8, dtype)):
            for b in (None, random(16, dtype=dtype)):
                for _ in range(1 if dtype is torch.float32 else 3):
                    close(F.linear(x, w, b), numbers(x) @ numbers(w).T + (0 if b is None else numbers(b)), dtype)
            g = random(6, 16, dtype=dtype)
            close(_core.function("shim::linear_backward_input")(g, w), numbers(g) @ numbers(w), dtype)
            for transposed in (False, True):
                dw = _core.function("shim::linear_backward_weight")(g, x, transposed)
                close(dw, numbers(g).T @ numbers(x), dtype)
    base, w, b = random(3, 80, 8), random(5, 8), random(5)
    for x in (base, base[:, ::2], base[:, :40]):
        close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), torch.float32)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def legacy():
    x, w = random(6, 8), random(5, 8)
    with legacy_linear():
        close(F.linear(x, w), numbers(x) @ numbers(w).T, torch.float32)
    for dtype, (rows, n, k) in itertools.product(EPS, ((3, 136, 72), (24, 56, 40))):
        for _ in range(4):  # the gradients are products and a sum of their own, for few rows and for many
            tensors = [random(*shape, dtype=dtype).requires_grad_() for shape in ((rows, k), (n, k), (n,))]
            y, g = F.linear(*tensors), random(rows, n, dtype=dtype)
            before = _core.gemm_status()
            with legacy_linear():
                y.backward(g)
            after = _core.gemm_status()
            products = [after[name] - before[name] for name in ("cublaslt", "own_kernels")]
            assert sum(products) >= 2, (dtype, rows, products)  # at once it is one; measuring is counted too
            wants = (numbers(g) @ numbers(tensors[1]), numbers(g).T @ numbers(tensors[0]), numbers(g).sum(0))
            for t, want in zip(tensors, wants, strict=True):
                close(t.grad, want, dtype, 8)
    assert not any(p["epilogue"] >= 256 for p in _core.gemm_plans())
    print("ok")


def streams():
    x, w, b = random(6, 8), random(16, 8), random(16)
    want = numbers(x) @ numbers(w).T + numbers(b)
    for stream in (torch.cuda.Stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            close(F.linear(x, w, b), want, torch.float32)
    torch.use_deterministic_algorithms(True)
    before = _core.gemm_status()["tuned"]
    for _ in range(5):
        close(F.linear(x, w, b), want, torch.float32)
    assert _core.gemm_status()["tuned"] == before
    print("ok")


def tuned():
    x, w = random(33, 64), random(40, 64)
    for _ in range(5):
        close(F.linear(x, w), numbers(x) @ numbers(w).T, torch.float32)
    print(_core.gemm_status()["tuned"])
