"""What test_simulated_cuda.py runs of launches of cuBLASLt's kernels without the library, in an interpreter that sees the simulated GPU."""

from __future__ import annotations

import math

import numpy as np
from comparison import EPS, close, numbers, random

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch_linear import fused_linear

F = torch.nn.functional


def direct():
    """Kernels launched without the library: what cannot be explained word by word is left to it."""
    before = _core.gemm_status()
    for dtype in EPS:
        x, w, b = random(33, 64, dtype=dtype), random(40, 64, dtype=dtype), random(40, dtype=dtype)
        for _ in range(8):  # other tensors every time
            x, w, b = random(33, 64, dtype=dtype), random(40, 64, dtype=dtype), random(40, dtype=dtype)
            close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), dtype)
            close(torch.matmul(x, w.t()), numbers(x) @ numbers(w).T, dtype)
            y = fused_linear(x.requires_grad_(), w, b, "gelu", approximate="tanh")
            z = numbers(x) @ numbers(w).T + numbers(b)
            want = 0.5 * z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
            close(y, want, dtype, 64)
        served = {p["epilogue"]: p["direct"] for p in _core.gemm_plans() if p["dtype"].endswith(str(dtype)[6:])}
        why = {
            torch.float16: "2 kernels",
            torch.float32: "1 kernel;",
            torch.bfloat16: "64 bytes of zeros",
            torch.float64: "is no operand",
        }
        assert all(why[dtype] in text for text in served.values()), served
        assert served.keys() >= {1, 4} and (dtype is torch.float64 or 164 in served), served
    ran = _core.gemm_status()["direct"] - before["direct"]
    assert ran >= 3 * 3 * 5, ran
    x, w = random(2, 16, dtype=torch.bfloat16), random(16, 16, dtype=torch.bfloat16)
    for _ in range(300):  # more than there are zeros for at a time
        close(torch.matmul(x, w.t()), numbers(x) @ numbers(w).T, torch.bfloat16)
    grad = torch.nn.Parameter(random(40, 64))  # added to in place: D is read
    x = random(33, 64)
    for i in range(6):
        F.linear(x, grad).sum().backward()
        close(grad.grad, np.ones((40, 33)) @ numbers(x) * (i + 1), torch.float32, 64)
    before = _core.gemm_status()["direct"]
    _core.gemm_flag("direct", False)
    F.linear(x, grad)
    assert _core.gemm_status()["direct"] == before
    print("ok")
