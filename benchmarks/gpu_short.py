"""A short run over allocation, copies, operators, gradients, streams and a Triton kernel, for compute-sanitizer."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from compat import enable_torch_proxy  # noqa: E402

enable_torch_proxy(scope={"gpu_kernels"})

import gpu_kernels  # noqa: E402

import shim_torch as torch  # noqa: E402


def main() -> None:
    torch.manual_seed(0)
    x, y = torch.randn(1024, device="cuda"), torch.randn(1024, device="cuda")
    out = torch.empty_like(x)
    gpu_kernels.launch(x, y, out)
    torch.testing.assert_close(out, x + y)
    host = torch.randn(33, 65)
    there = host.t().cuda()
    assert torch.equal(there.cpu(), host.t())
    w = torch.randn(65, 7, device="cuda", requires_grad=True)
    loss = torch.nn.functional.gelu(there.t() @ w).softmax(-1).log().mean()
    loss.backward()
    assert torch.isfinite(w.grad).all().item()
    with torch.cuda.stream(torch.cuda.Stream()):
        part = there[1:, ::3].contiguous().bfloat16().float()
    torch.cuda.synchronize()
    assert part.shape == (64, 11)
    for _ in range(100):
        torch.empty(1000, device="cuda").fill_(1.5)
    torch.cuda.synchronize()
    print("done", loss.item())


if __name__ == "__main__":
    main()
