"""What test_simulated_cuda.py runs of matrix products by cuBLASLt, of 16 and 8 bits with wider results too, in an interpreter that sees the simulated GPU."""

from __future__ import annotations

import itertools

import numpy as np
from comparison import EPS, close, numbers, random, rng

import shim_torch as torch
from shim_torch._impl.native import _core


def products():
    pairs = [
        ((4, 6), (6, 5)),
        ((3, 4, 6), (3, 6, 5)),
        ((3, 4, 6), (6, 5)),
        ((4, 6), (3, 6, 5)),
        ((6,), (6, 5)),
        ((4, 6), (6,)),
        ((6,), (6,)),
        ((2, 1, 4, 6), (3, 6, 5)),
    ]
    for dtype, (a, b) in itertools.product(EPS, pairs):
        x, y = random(*a, dtype=dtype), random(*b, dtype=dtype)
        if len(a) == 4:
            continue  # broadcast batches of two dimensions are copied, which is CuPy's part
        close(torch.matmul(x, y), numbers(x) @ numbers(y), dtype)
    for beta, alpha in ((1, 1), (0, 1), (0.5, -2)):
        c, p, q = random(4, 5), random(4, 6), random(6, 5)
        for _ in range(4):
            close(
                torch.addmm(c, p, q, beta=beta, alpha=alpha),
                beta * numbers(c) + alpha * (numbers(p) @ numbers(q)),
                torch.float32,
            )
    c, p, q = random(16), random(4, 6), random(6, 16)
    close(torch.addmm(c, p, q), numbers(c) + numbers(p) @ numbers(q), torch.float32)
    for dtype, (m, n) in itertools.product(EPS, ((1, 1), (5, 3), (70, 33), (3, 600))):
        before = _core.gemm_status()["own_kernels"]
        u, v = random(m, dtype=dtype).requires_grad_(), random(n, dtype=dtype).requires_grad_()
        y, g = torch.outer(u, v), random(m, n, dtype=dtype)
        assert _core.gemm_status()["own_kernels"] == before + 1
        du, dv = torch.autograd.grad(y, (u, v), g)
        close(y, np.multiply.outer(numbers(u), numbers(v)), dtype)
        close(du, numbers(g) @ numbers(v), dtype)
        close(dv, numbers(u) @ numbers(g), dtype)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")


def float8():
    a8 = torch.from_numpy(rng.standard_normal((16, 32)).astype(np.float32)).to(torch.float8_e4m3fn)
    b8 = torch.from_numpy(rng.standard_normal((48, 32)).astype(np.float32)).to(torch.float8_e5m2)
    exact = numbers(a8) @ numbers(b8).T
    a, b = a8.to("cuda"), b8.to("cuda").t()
    half, two = torch.tensor(0.5).to("cuda"), torch.tensor(4.0).to("cuda")
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        close(torch._scaled_mm(a, b, half, two, out_dtype=dtype), exact * 2, dtype)
    bias = random(48, dtype=torch.bfloat16)
    close(
        torch._scaled_mm(a, b, half, two, bias=bias, out_dtype=torch.bfloat16),
        exact * 2 + numbers(bias),
        torch.bfloat16,
    )
    rows, columns = rng.uniform(0.5, 2, (16, 1)).astype(np.float32), rng.uniform(0.5, 2, (1, 48)).astype(np.float32)
    got = torch._scaled_mm(
        a, b, torch.from_numpy(rows).to("cuda"), torch.from_numpy(columns).to("cuda"), out_dtype=torch.float32
    )
    close(got, exact * rows * columns, torch.float32)
    print("ok")


def problems():
    names = ("dtype", "result", "m", "n", "k", "batch", "transposed", "epilogue")
    return {tuple(p[name] for name in names) for p in _core.gemm_plans()}


def wide_results():
    """float32 of 16-bit operands by one product each, which nothing was converted for."""
    for dtype in (torch.float16, torch.bfloat16):
        a, b, c = random(2, 24, 40, dtype=dtype), random(2, 40, 56, dtype=dtype), random(2, 24, 56)
        exact = numbers(a) @ numbers(b)
        dx = _core.function("shim::linear_backward_input")
        calls = {
            "mm": (torch.mm, (a[0], b[0]), {}, exact[0]),
            "addmm": (torch.addmm, (c[0], a[0], b[0]), {}, exact[0] + numbers(c[0])),
            "bmm": (torch.bmm, (a, b), {}, exact),
            "baddbmm": (torch.baddbmm, (c, a, b), {"beta": 2}, exact + 2 * numbers(c)),
            "dx": (dx, (a[0], b[0]), {}, exact[0]),
        }
        for name, (call, given, options, want) in calls.items():
            before = problems()
            got = call(*given, out_dtype=torch.float32, **options)
            assert got.dtype is torch.float32, name
            close(got, want, torch.float32, 16)
            made = {problem[:2] for problem in problems() - before}
            assert made <= {(str(dtype).removeprefix("torch."), "float32")}, (name, made)
            assert made or name not in ("mm", "bmm"), name  # the others' differ in nothing that is reported
        total, want = c[0].clone(), numbers(c[0])
        for i in range(6):  # as a loss in chunks adds up its weight's gradient: in place once the ways are measured
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            torch.addmm(total, a[0], b[0], out_dtype=torch.float32, out=total)
            want = want + exact[0]
            assert i < 5 or torch.cuda.max_memory_allocated() == before
        close(total, want, torch.float32, 16)
    assert _core.gemm_status()["fallbacks"] == 0
    print("ok")
