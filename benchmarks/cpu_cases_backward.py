"""Forward and backward of single operators, for the wide CPU benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from side_by_side import Cases


def both(torch: Any, call: Callable[[], Any], *inputs: Any) -> Callable[[], Any]:
    """Forward and backward of a call, with a gradient of random numbers."""
    seed = torch.randn_like(call().detach())
    return lambda: torch.autograd.grad(call(), inputs, seed)


def small_backward_cases(torch: Any) -> dict[str, tuple[Any, ...]]:
    """Forward and backward on 8 numbers."""
    f = torch.nn.functional

    def leaf(*sizes: int) -> Any:
        return torch.randn(*sizes, requires_grad=True)

    target = torch.randint(0, 1024, (512,))
    small, vec = leaf(8, 8), leaf(8)
    mean = torch.zeros(16)
    return {
        "add 8": (lambda: vec + vec, vec),
        "mul 8": (lambda: vec * vec, vec),
        "sum 8x8": (lambda: small.sum(), small),
        "mm 8x8": (lambda: small @ small, small),
        "linear 8x8": (lambda: f.linear(small, small, vec), small, vec),
        "relu 8": (lambda: vec.relu(), vec),
        "softmax 8x8": (lambda: small.softmax(-1), small),
        "layer_norm 8x8": (lambda: f.layer_norm(small, (8,), vec, vec), small, vec),
        "gelu 8": (lambda: f.gelu(vec), vec),
        "cat 8": (lambda: torch.cat((vec, vec)), vec),
        "index 8x8": (lambda: small[1], small),
        "slice 8x8": (lambda: small[:, 1:3], small),
        "view 8x8": (lambda: small.view(64), small),
        "dropout 8": (lambda: f.dropout(vec, 0.5), vec),
        "cross_entropy 8x8": (lambda: f.cross_entropy(small, target[:8] % 8), small),
        "mse_loss 8": (lambda: f.mse_loss(vec, mean[:8]), vec),
    }


def pointwise_backward_cases(torch: Any) -> dict[str, tuple[Any, ...]]:
    """Forward and backward, number by number."""
    f = torch.nn.functional

    def leaf(*sizes: int) -> Any:
        return torch.randn(*sizes, requires_grad=True)

    m, other, row, col = leaf(512, 1024), leaf(512, 1024), leaf(1024), leaf(512, 1)
    mask = torch.rand(512, 1024) > 0.5
    return {
        "add 512x1024": (lambda: m + other, m, other),
        "mul 512x1024": (lambda: m * other, m, other),
        "div 512x1024": (lambda: m / (other.detach().abs() + 1), m),
        "add row 512x1024": (lambda: m + row, m, row),
        "mul column 512x1024": (lambda: m * col, m, col),
        "exp 512x1024": (lambda: m.exp(), m),
        "tanh 512x1024": (lambda: m.tanh(), m),
        "sigmoid 512x1024": (lambda: m.sigmoid(), m),
        "relu 512x1024": (lambda: m.relu(), m),
        "leaky_relu 512x1024": (lambda: f.leaky_relu(m), m),
        "gelu 512x1024": (lambda: f.gelu(m), m),
        "gelu tanh 512x1024": (lambda: f.gelu(m, approximate="tanh"), m),
        "silu 512x1024": (lambda: f.silu(m), m),
        "elu 512x1024": (lambda: f.elu(m), m),
        "softplus 512x1024": (lambda: f.softplus(m), m),
        "pow 2 512x1024": (lambda: m**2, m),
        "sqrt abs 512x1024": (lambda: (m.abs() + 1).sqrt(), m),
        "where 512x1024": (lambda: torch.where(mask, m, other), m, other),
        "masked_fill 512x1024": (lambda: m.masked_fill(mask, 0.0), m),
        "clamp 512x1024": (lambda: m.clamp(-1, 1), m),
        "maximum 512x1024": (lambda: torch.maximum(m, other), m, other),
        "dropout 512x1024": (lambda: f.dropout(m, 0.1), m),
    }


def layer_backward_cases(torch: Any) -> dict[str, tuple[Any, ...]]:
    """Forward and backward of reductions, layers and selections."""
    f = torch.nn.functional

    def leaf(*sizes: int) -> Any:
        return torch.randn(*sizes, requires_grad=True)

    m, other, row = leaf(512, 1024), leaf(512, 1024), leaf(1024)
    w, bias, gamma = leaf(256, 1024), leaf(256), leaf(16)
    im, k3, dw, seq, k = leaf(8, 16, 32, 32), leaf(32, 16, 3, 3), leaf(16, 1, 3, 3), leaf(8, 16, 256), leaf(32, 16, 3)
    table, tokens, target = leaf(1000, 64), torch.randint(0, 1000, (32, 128)), torch.randint(0, 1024, (512,))
    q, kk, v, wide = leaf(2, 8, 128, 64), leaf(2, 8, 128, 64), leaf(2, 8, 128, 64), torch.randint(0, 1024, (512, 1024))
    mean, var, mask, rows = torch.zeros(16), torch.ones(16), torch.rand(512, 1024) > 0.5, torch.randint(0, 512, (512,))
    return {
        "sum rows 512x1024": (lambda: m.sum(1), m),
        "mean 512x1024": (lambda: m.mean(), m),
        "max rows 512x1024": (lambda: m.max(1)[0], m),
        "amax rows 512x1024": (lambda: m.amax(1), m),
        "var rows 512x1024": (lambda: m.var(1), m),
        "norm 512x1024": (lambda: m.norm(), m),
        "cumsum rows 512x1024": (lambda: m.cumsum(1), m),
        "logsumexp 512x1024": (lambda: m.logsumexp(1), m),
        "softmax 512x1024": (lambda: m.softmax(1), m),
        "log_softmax 512x1024": (lambda: m.log_softmax(1), m),
        "cross_entropy 512x1024": (lambda: f.cross_entropy(m, target), m),
        "mse_loss 512x1024": (lambda: f.mse_loss(m, other), m),
        "bce_with_logits 512x1024": (lambda: f.binary_cross_entropy_with_logits(m, mask.float()), m),
        "layer_norm 512x1024": (lambda: f.layer_norm(m, (1024,), row, row), m, row),
        "rms_norm 512x1024": (lambda: f.rms_norm(m, (1024,), row), m, row),
        "group_norm 8x16x32x32": (lambda: f.group_norm(im, 4, gamma, gamma), im, gamma),
        "batch_norm 8x16x32x32": (lambda: f.batch_norm(im, mean, var, gamma, gamma, True), im, gamma),
        "linear 512x1024x256": (lambda: f.linear(m, w, bias), m, w, bias),
        "matmul 512x1024x256": (lambda: m @ w.t(), m, w),
        "bmm 16x128x64x128": (lambda: q @ kk.transpose(-1, -2), q, kk),
        "sdpa 2x8x128x64": (lambda: f.scaled_dot_product_attention(q, kk, v), q, kk, v),
        "sdpa causal 2x8x128x64": (lambda: f.scaled_dot_product_attention(q, kk, v, is_causal=True), q, kk, v),
        "conv2d 8x16x32x32": (lambda: f.conv2d(im, k3, padding=1), im, k3),
        "conv2d depthwise 8x16x32x32": (lambda: f.conv2d(im, dw, padding=1, groups=16), im, dw),
        "conv1d 8x16x256": (lambda: f.conv1d(seq, k, padding=1), seq, k),
        "max_pool2d 8x16x32x32": (lambda: f.max_pool2d(im, 2), im),
        "avg_pool2d 8x16x32x32": (lambda: f.avg_pool2d(im, 2), im),
        "interpolate bilinear 8x16x32x32": (lambda: f.interpolate(im, scale_factor=2, mode="bilinear"), im),
        "embedding 32x128x64": (lambda: f.embedding(tokens, table), table),
        "gather rows 512x1024": (lambda: m.gather(1, wide), m),
        "index_select 512x1024": (lambda: m.index_select(0, rows), m),
        "x[index] 512x1024": (lambda: m[rows], m),
        "cat 512x1024": (lambda: torch.cat((m, other)), m, other),
        "stack 512x1024": (lambda: torch.stack((m, other)), m, other),
        "transpose contiguous 512x1024": (lambda: m.t().contiguous(), m),
        "expand 512x1024": (lambda: row.expand(512, 1024), row),
        "pad 8x16x32x32": (lambda: f.pad(im, (1, 1, 1, 1)), im),
        "to bfloat16 512x1024": (lambda: m.to(torch.bfloat16), m),
        "sort rows 512x1024": (lambda: m.sort(1)[0], m),
    }


def backward_cases(torch: Any) -> Cases:
    """Forward and backward of an operator, through autograd.grad."""
    calls = {**small_backward_cases(torch), **pointwise_backward_cases(torch), **layer_backward_cases(torch)}
    return {f"fwd+bwd {name}": both(torch, call, *inputs) for name, (call, *inputs) in calls.items()}
