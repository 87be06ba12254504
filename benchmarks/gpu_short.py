"""A short run over allocation, copies, operators, gradients, streams and a Triton kernel, for compute-sanitizer."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from compat import enable_torch_proxy  # noqa: E402

enable_torch_proxy(scope={"gpu_kernels"})

import gpu_kernels  # noqa: E402

import shim_torch as torch  # noqa: E402


def kernels(dtype: torch.dtype) -> None:
    """Every family of our kernels, on sizes that end in the middle of a load, a warp, a block."""
    functional = torch.nn.functional
    for rows, columns in ((3, 5), (17, 1000), (2, 5003)):
        x = torch.randn(rows, columns, device="cuda").to(dtype).requires_grad_()
        w, b = (torch.ones(columns, dtype=dtype, device="cuda").requires_grad_() for _ in range(2))
        index = torch.randint(0, columns, (rows,), device="cuda")
        y = functional.layer_norm(x, (columns,), w, b) + functional.rms_norm(x, (columns,), w)
        y = functional.dropout(functional.silu(y), 0.1, True) + functional.gelu(y).softmax(-1)
        loss = functional.cross_entropy(torch.cat([y, y[:, :3]], 1), index)
        (
            loss + functional.embedding(index.clamp(max=rows - 1), y).sum() + y[index.clamp(max=rows - 1)].sum()
        ).backward()
        picture = torch.randn(2, 6, rows, columns, device="cuda").to(dtype).requires_grad_()
        functional.group_norm(picture, 3, torch.ones(6, device="cuda").to(dtype)).sum().backward()
        plain = x.detach()
        plain.sort(-1), plain.sort(0), plain.topk(3), plain.cumsum(1), plain.cumsum(0), plain.argmax(1), plain.max(0)
        plain.argmax(), plain.tril(), plain.gather(1, index.unsqueeze(1)), plain.masked_fill(plain > 0, 1.0)
        plain.scatter_add(1, index.unsqueeze(1), plain), plain.index_add(0, index.clamp(max=rows - 1), plain)
        plain.reshape(-1).cumsum(0), plain.reshape(-1).sort()
        counted(plain, index)
        torch.rand(rows, columns, device="cuda", dtype=dtype), torch.randint(0, 7, (rows, columns), device="cuda")


def counted(x: torch.Tensor, index: torch.Tensor) -> None:
    """Writes at places, counts, losses and reductions down columns of a matrix; ``index`` names its columns."""
    functional = torch.nn.functional
    where = index.unsqueeze(1).expand_as(x).clamp(max=x.size(0) - 1)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        x.scatter_reduce(0, where, x, reduce, include_self=reduce != "mean")
    x.index_fill(1, index, 2.0), x.index_copy(1, index, x[:, : len(index)]), x.masked_scatter(x > 0, x)
    x.index_reduce(1, index, x[:, : len(index)], "amax"), x.masked_scatter(x[:, :1] > 0, x)
    for whole in (index, torch.randint(0, 3000, (20_001,), device="cuda")):
        torch.bincount(whole), torch.bincount(whole, whole.float(), 7), torch.unique(whole, return_counts=True)
        torch.unique_consecutive(whole, return_inverse=True)
    torch.unique(x, return_inverse=True, return_counts=True)
    x.float().histc(100), x.double().histc(9000, -1, 1), x.logsumexp(1), x.logsumexp((0, 1))
    (
        x.mean(0),
        x.double().sum(0),
        (x > 0).any(0),
        x.amax(0),
        x.flip(1),
        x[:, : x.size(1) // 8 * 8].contiguous().flip(0, 1),
    )
    leaf = x.clone().requires_grad_()
    for loss in (functional.mse_loss, functional.l1_loss, functional.smooth_l1_loss, functional.huber_loss):
        loss(leaf, x * 2).backward()


def main() -> None:
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.bfloat16):
        kernels(dtype)
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
