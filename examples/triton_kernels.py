"""Triton kernels as PyTorch users write them, with no PyTorch: vector add, softmax, matmul, layer norm with gradients.

On a GPU they are compiled; without one Triton's interpreter runs them. Prints each kernel's largest error against
NumPy in float64, and its time.
"""

from compat import enable_torch_proxy

enable_torch_proxy(scope={"__main__", "triton"})

import numpy as np
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()
LARGE = DEVICE.type == "cuda"


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x + y by ``add_kernel``; shapes are equal."""
    out = torch.empty_like(x)
    add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=1024)
    return out


@triton.jit
def softmax_kernel(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + at, e / tl.sum(e, axis=0), mask=at < columns)


def softmax(x: torch.Tensor) -> torch.Tensor:
    """The softmax of each row of a matrix by ``softmax_kernel``."""
    out = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, out, x.stride(0), x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


@triton.autotune(
    configs=[triton.Config({"M": 64, "N": 64, "K": 32}), triton.Config({"M": 128, "N": 64, "K": 32}, num_warps=8)],
    key=["m", "n", "k"],
)
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, am, ak, bk, bn, cm, cn, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = k - start
        a = tl.load(a_ptr + rows[:, None] * am + (start + inner)[None, :] * ak,
                    mask=(rows[:, None] < m) & (inner[None, :] < left), other=0.0)  # fmt: skip
        b = tl.load(b_ptr + (start + inner)[:, None] * bk + columns[None, :] * bn,
                    mask=(inner[:, None] < left) & (columns[None, :] < n), other=0.0)  # fmt: skip
        total = tl.dot(a, b, total)
    out = total.to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * cm + columns[None, :] * cn, out, mask=(rows[:, None] < m) & (columns[None, :] < n))


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a (m, k) times b (k, n) by ``matmul_kernel``."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=a.dtype)
    grid = lambda meta: (triton.cdiv(m, meta["M"]), triton.cdiv(n, meta["N"]))
    matmul_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    return c


@triton.jit
def norm_forward(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, columns, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    x = tl.load(x_ptr + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(mask, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    y = centred * rstd * tl.load(w_ptr + at, mask=mask) + tl.load(b_ptr + at, mask=mask)
    tl.store(y_ptr + row * columns + at, y, mask=mask)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


@triton.jit
def norm_backward(dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    mask = at < columns
    dy = tl.load(dy_ptr + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * columns + at, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    normal = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    scaled = dy * tl.load(w_ptr + at, mask=mask, other=0.0)
    dx = (scaled - (normal * tl.sum(normal * scaled, axis=0) + tl.sum(scaled, axis=0)) / columns) * rstd
    tl.store(dx_ptr + row * columns + at, dx, mask=mask)
    tl.atomic_add(dw_ptr + at, dy * normal, mask=mask)
    tl.atomic_add(db_ptr + at, dy, mask=mask)


class LayerNorm(torch.autograd.Function):
    """Layer norm over the last dimension of a matrix."""

    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        """The norm of each row of ``x``, times ``weight`` plus ``bias``."""
        y = torch.empty_like(x)
        mean, rstd = (torch.empty(x.shape[0], device=x.device) for _ in range(2))
        block = triton.next_power_of_2(x.shape[1])
        norm_forward[(x.shape[0],)](x, weight, bias, y, mean, rstd, x.shape[1], eps, BLOCK=block)
        ctx.save_for_backward(x, weight, mean, rstd)
        ctx.block = block
        return y

    @staticmethod
    def backward(ctx, dy):
        """The gradients by x, weight and bias."""
        x, weight, mean, rstd = ctx.saved_tensors
        dx, dw, db = torch.empty_like(x), torch.zeros_like(weight), torch.zeros_like(weight)
        norm_backward[(x.shape[0],)](
            dy.contiguous(), x, weight, mean, rstd, dx, dw, db, x.shape[1], BLOCK=ctx.block
        )  # fmt: skip
        return dx, dw, db, None


def exact(t: torch.Tensor) -> np.ndarray:
    """The tensor as a float64 array."""
    return t.detach().cpu().double().numpy()


def row(name, shape, results, references, call):
    """Prints a line: name, shape, largest error and milliseconds of a call."""
    error = max(float(np.abs(exact(ours) - theirs).max()) for ours, theirs in zip(results, references))
    time = triton.testing.do_bench(call, warmup=1, rep=20)
    print(f"{name:28} {shape:>18} {error:12.2e} {time:10.3f}")
    return error


def main() -> None:
    """Runs each kernel against NumPy and prints a line for each."""
    torch.manual_seed(0)
    print(
        f"{'kernel':28} {'shape':>18} {'max error':>12} {'ms':>10}   ({torch.__name__} {torch.__version__}, {DEVICE})"
    )
    n = 1 << 24 if LARGE else 98432
    x, y = torch.randn(n, device=DEVICE), torch.randn(n, device=DEVICE)
    assert row("vector add", str(n), [add(x, y)], [exact(x) + exact(y)], lambda: add(x, y)) < 1e-6

    shape = (4096, 1024) if LARGE else (32, 781)
    x = torch.randn(shape, device=DEVICE)
    e = np.exp(exact(x) - exact(x).max(1, keepdims=True))
    text = "x".join(map(str, shape))
    assert row("fused softmax", text, [softmax(x)], [e / e.sum(1, keepdims=True)], lambda: softmax(x)) < 1e-6

    size = 2048 if LARGE else 128
    for dtype, limit in ((torch.float16, 2e-3), (torch.bfloat16, 2e-2)):
        a, b = ((torch.randn(size, size, device=DEVICE) / size**0.5).to(dtype) for _ in range(2))
        name = f"matmul {str(dtype).removeprefix('torch.')}"
        assert row(name, f"{size}x{size}x{size}", [matmul(a, b)], [exact(a) @ exact(b)], lambda: matmul(a, b)) < limit

    x = torch.randn(shape, device=DEVICE, requires_grad=True)
    w, b = (torch.randn(shape[1], device=DEVICE, requires_grad=True) for _ in range(2))
    dy = torch.randn(shape, device=DEVICE)
    out = LayerNorm.apply(x, w, b, 1e-5)
    out.backward(dy)
    centred = exact(x) - exact(x).mean(1, keepdims=True)
    rstd = 1 / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5)
    normal, scaled = centred * rstd, exact(dy) * exact(w)
    dx = (scaled - normal * (normal * scaled).mean(1, keepdims=True) - scaled.mean(1, keepdims=True)) * rstd
    references = [normal * exact(w) + exact(b), dx, (exact(dy) * normal).sum(0), exact(dy).sum(0)]
    call = lambda: LayerNorm.apply(x, w, b, 1e-5).backward(dy)
    results = [out, x.grad.clone(), w.grad.clone(), b.grad.clone()]
    assert row("layer norm forward+backward", text, results, references, call) < 1e-3


if __name__ == "__main__":
    main()
