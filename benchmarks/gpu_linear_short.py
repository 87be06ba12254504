"""A short run over linear's kernels, for compute-sanitizer:

compute-sanitizer --tool memcheck python benchmarks/gpu_linear_short.py
compute-sanitizer --tool racecheck python benchmarks/gpu_linear_short.py
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import shim_torch as torch
from shim_torch._impl.native import _core
from shim_torch_linear import fused_linear


def main() -> None:
    _core.gemm_flag("tuning", False)  # the library's own trial kernels are not what is looked at
    sums = _core.function("shim::linear_backward_bias")
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        for m, k, n in ((7, 5, 13), (64, 64, 96), (300, 40, 1001)):
            x, w, b = (torch.randn(*s).to(dtype).to("cuda").requires_grad_() for s in ((m, k), (n, k), (n,)))
            g = torch.randn(m, n).to(dtype).to("cuda")
            for activation, approximate in (("none", "none"), ("relu", "none"), ("gelu", "none"), ("gelu", "tanh")):
                torch.autograd.grad(fused_linear(x, w, b, activation, approximate=approximate), (x, w, b), g)
        for m in (1, 3, 8, 16):  # few rows: one launch for all gradients
            x, w = (torch.randn(*s).to(dtype).to("cuda").requires_grad_() for s in ((m, 264), (1036, 264)))
            torch.autograd.grad(torch.nn.functional.linear(x, w), (x, w), torch.randn(m, 1036).to(dtype).to("cuda"))
        for rows, cols in ((1, 1), (5000, 33), (40, 4096)):
            sums(torch.randn(rows, cols).to(dtype).to("cuda"))
            torch.outer(torch.randn(rows).to(dtype).to("cuda"), torch.randn(cols).to(dtype).to("cuda"))
    torch.cuda.synchronize()
    print("done", _core.gemm_status())


if __name__ == "__main__":
    main()
