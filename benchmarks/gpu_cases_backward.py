"""Forward and backward of single operators and layers, for benchmarks/gpu_eager.py."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

Case = Callable[[], Any]


def with_gradient(torch: Any, forward: Callable[[], Any], *leaves: Any) -> Case:
    """The call and its gradient by the leaves, for the same gradient of ones every time."""
    grads: list[Any] = []

    def run() -> None:
        out = forward()
        if not grads:
            grads.append(torch.ones_like(out))
        torch.autograd.grad(out, leaves, grads[0])

    return run


def layers_backward(torch: Any) -> dict[str, Case]:
    """Forward and backward of layers and reductions."""
    functional = torch.nn.functional

    def leaf(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.randn(*shape, device="cuda").to(dtype).requires_grad_()

    x, w, b = leaf(16, 64, 56, 56), leaf(64, 64, 3, 3), leaf(64)
    half, wh = leaf(16, 64, 56, 56, dtype=torch.bfloat16), leaf(64, 64, 3, 3, dtype=torch.bfloat16)
    strip, line, depth = leaf(16, 64, 4096), leaf(64, 64, 3), leaf(64, 1, 4)
    mean, var = torch.zeros(64, device="cuda"), torch.ones(64, device="cuda")
    grid = (torch.rand(16, 56, 56, 2, device="cuda") * 2 - 1).requires_grad_()
    q, k, v = (leaf(4, 16, 1024, 64, dtype=torch.bfloat16) for _ in range(3))
    wide = leaf(4096, 4096)
    small = leaf(64, 1024)
    rows = torch.randint(0, 4096, (4096,), device="cuda")
    points, others = leaf(4, 1024, 64), leaf(4, 1024, 64)
    table, bags = leaf(32000, 256), torch.randint(0, 32000, (4096, 16), device="cuda")
    both = functools.partial(with_gradient, torch)
    return {
        "conv2d fwd+bwd": both(lambda: functional.conv2d(x, w, b, padding=1), x, w, b),
        "conv2d bf16 fwd+bwd": both(lambda: functional.conv2d(half, wh, None, padding=1), half, wh),
        "conv1d fwd+bwd": both(lambda: functional.conv1d(strip, line, padding=1), strip, line),
        "conv1d causal depthwise fwd+bwd": both(
            lambda: functional.conv1d(strip, depth, padding=3, groups=64), strip, depth
        ),
        "batch_norm fwd+bwd": both(lambda: functional.batch_norm(x, mean, var, b, b, True), x, b),
        "instance_norm fwd+bwd": both(lambda: functional.instance_norm(x), x),
        "max_pool2d fwd+bwd": both(lambda: functional.max_pool2d(x, 3, 2, 1), x),
        "avg_pool2d fwd+bwd": both(lambda: functional.avg_pool2d(x, 3, 2, 1), x),
        "adaptive_avg_pool2d fwd+bwd": both(lambda: functional.adaptive_avg_pool2d(x, 7), x),
        "interpolate bilinear fwd+bwd": both(lambda: functional.interpolate(x, scale_factor=2, mode="bilinear"), x),
        "interpolate nearest fwd+bwd": both(lambda: functional.interpolate(x, scale_factor=2), x),
        "grid_sample fwd+bwd": both(lambda: functional.grid_sample(x, grid, align_corners=False), x, grid),
        "sdpa fwd+bwd bf16": both(lambda: functional.scaled_dot_product_attention(q, k, v), q, k, v),
        "sdpa causal fwd+bwd bf16": both(
            lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v
        ),
        "embedding_bag fwd+bwd": both(lambda: functional.embedding_bag(bags, table), table),
        "cdist fwd+bwd": both(lambda: torch.cdist(points, others), points, others),
        "cumsum fwd+bwd": both(lambda: wide.cumsum(1), wide),
        "softmax dim 0 fwd+bwd": both(lambda: wide.softmax(0), wide),
        "logsumexp fwd+bwd": both(lambda: wide.logsumexp(1), wide),
        "index_select fwd+bwd": both(lambda: wide.index_select(0, rows), wide),
        "x[rows] fwd+bwd": both(lambda: wide[rows], wide),
        "gather fwd+bwd": both(lambda: wide.gather(0, rows[None].expand(64, 4096)), wide),
        "sort fwd+bwd": both(lambda: small.sort(1).values, small),
        "topk fwd+bwd": both(lambda: small.topk(5).values, small),
        "max dim fwd+bwd": both(lambda: small.max(1).values, small),
        "var fwd+bwd": both(lambda: wide.var(1), wide),
        "norm fwd+bwd": both(lambda: torch.linalg.vector_norm(wide, dim=1), wide),
        "prod fwd+bwd": both(lambda: small.prod(1), small),
    }


def pointwise_backward(torch: Any) -> dict[str, Case]:
    """Forward and backward, number by number, of losses and joins."""
    functional = torch.nn.functional

    def leaf(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.randn(*shape, device="cuda").to(dtype).requires_grad_()

    x, b = leaf(16, 64, 56, 56), leaf(64)
    wide = leaf(4096, 4096)
    y, small, other = leaf(4096, 4096), leaf(64, 1024), leaf(64, 1024)
    labels = torch.randint(0, 1024, (64,), device="cuda")
    points, others = leaf(4, 1024, 64), leaf(4, 1024, 64)
    both = functools.partial(with_gradient, torch)

    def amp() -> Any:
        with torch.autocast("cuda", torch.bfloat16), contextlib.nullcontext():
            return functional.linear(wide, y)

    return {
        "where fwd+bwd": both(lambda: torch.where(wide > 0, wide, y), wide, y),
        "tanh*sigmoid fwd+bwd": both(lambda: wide.tanh() * y.sigmoid(), wide, y),
        "softplus fwd+bwd": both(lambda: functional.softplus(wide), wide),
        "mish fwd+bwd": both(lambda: functional.mish(wide), wide),
        "elu fwd+bwd": both(lambda: functional.elu(wide), wide),
        "leaky_relu fwd+bwd": both(lambda: functional.leaky_relu(wide), wide),
        "hardswish fwd+bwd": both(lambda: functional.hardswish(wide), wide),
        "prelu fwd+bwd": both(lambda: functional.prelu(x, b), x, b),
        "glu fwd+bwd": both(lambda: functional.glu(wide), wide),
        "pow fwd+bwd": both(lambda: wide.abs() ** 2.5, wide),
        "clamp fwd+bwd": both(lambda: wide.clamp(-1, 1), wide),
        "div fwd+bwd": both(lambda: wide / y, wide, y),
        "rsqrt fwd+bwd": both(lambda: (wide * wide + 1).rsqrt(), wide),
        "atan2 fwd+bwd": both(lambda: torch.atan2(wide, y), wide, y),
        "normalize fwd+bwd": both(lambda: functional.normalize(wide, dim=1), wide),
        "cosine_similarity fwd+bwd": both(lambda: functional.cosine_similarity(wide, y), wide, y),
        "kl_div fwd+bwd": both(
            lambda: functional.kl_div(small.log_softmax(1), other.softmax(1), reduction="batchmean"), small, other
        ),
        "nll_loss fwd+bwd": both(lambda: functional.nll_loss(small, labels), small),
        "bce_with_logits fwd+bwd": both(
            lambda: functional.binary_cross_entropy_with_logits(small, other.detach().sigmoid()), small
        ),
        "smooth_l1 fwd+bwd": both(lambda: functional.smooth_l1_loss(wide, y.detach()), wide),
        "cat fwd+bwd": both(lambda: torch.cat([wide, y], 1), wide, y),
        "pad reflect fwd+bwd": both(lambda: functional.pad(x, (1, 1, 1, 1), mode="reflect"), x),
        "x + bias fwd+bwd": both(lambda: wide + y[0], wide, y),
        "linear autocast bf16 fwd+bwd": both(amp, wide, y),
        "fft fwd+bwd": both(lambda: torch.fft.rfft(wide).abs(), wide),
        "einsum fwd+bwd": both(lambda: torch.einsum("bij,bkj->bik", points, others), points, others),
    }


def transformer_backward(torch: Any) -> dict[str, Case]:
    """Forward and backward of what transformers have, at their sizes."""
    functional = torch.nn.functional

    def leaf(*shape: int, dtype: Any = torch.bfloat16) -> Any:
        return torch.randn(*shape, device="cuda").to(dtype).requires_grad_()

    x, w, b = leaf(4096, 4096), leaf(4096), leaf(4096)
    g = torch.randn(4096, 4096, device="cuda").bfloat16()
    table, logits = leaf(32000, 1024), leaf(4096, 32000)
    tokens = torch.randint(0, 32000, (4096,), device="cuda")
    rows = torch.randn(4096, 1024, device="cuda").bfloat16()
    image, scale = leaf(16, 256, 64, 64, dtype=torch.float32), leaf(256, dtype=torch.float32)
    over = torch.randn(16, 256, 64, 64, device="cuda")

    def both(forward: Callable[[], Any], leaves: list[Any], grad: Any = None) -> Case:
        def run() -> None:
            for t in leaves:
                t.grad = None
            forward().backward(grad)

        return run

    return {
        "layer_norm fwd+bwd 4096x4096 bf16": both(lambda: functional.layer_norm(x, (4096,), w, b), [x, w, b], g),
        "rms_norm fwd+bwd 4096x4096 bf16": both(lambda: functional.rms_norm(x, (4096,), w), [x, w], g),
        "group_norm fwd+bwd 16x256x64x64": both(
            lambda: functional.group_norm(image, 32, scale, scale), [image, scale], over
        ),
        "cross_entropy fwd+bwd 4096x32000 bf16": both(lambda: functional.cross_entropy(logits, tokens), [logits]),
        "embedding fwd+bwd 4096 of 32000x1024 bf16": both(lambda: functional.embedding(tokens, table), [table], rows),
        "softmax fwd+bwd 4096x4096 bf16": both(lambda: x.softmax(-1), [x], g),
        "dropout fwd+bwd 4096x4096 bf16": both(lambda: functional.dropout(x, 0.1, True), [x], g),
        "gelu fwd+bwd 4096x4096 bf16": both(lambda: functional.gelu(x), [x], g),
        "silu*y fwd+bwd 4096x4096 bf16": both(lambda: functional.silu(x) * x, [x], g),
    }


def backward(torch: Any) -> dict[str, Case]:
    return {**layers_backward(torch), **pointwise_backward(torch)}
