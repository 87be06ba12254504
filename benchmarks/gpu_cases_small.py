"""Operators on 64x1024 numbers, for benchmarks/gpu_eager.py: the call is what they cost."""

from __future__ import annotations

from typing import Any

from gpu_cases_backward import Case
from gpu_cases_backward import with_gradient as both


def pointwise_calls(torch: Any) -> dict[str, Case]:
    """Pointwise operators and writes on 64x1024 numbers: the call is what they cost."""
    x, y = torch.randn(64, 1024, device="cuda"), torch.randn(64, 1024, device="cuda")
    half, whole, mask = x.bfloat16(), torch.randint(0, 1000, (64, 1024), device="cuda"), x > 0
    out, number, row = torch.empty_like(x), torch.tensor(2.0, device="cuda"), y[0].clone()
    rows = torch.randint(0, 64, (64,), device="cuda")
    return {
        "small x + 1": lambda: x + 1,
        "small x += y": lambda: x.add_(y, alpha=0.0),
        "small x + row": lambda: x + row,
        "small x * 0-dim": lambda: x * number,
        "small x + bf16": lambda: x + half,
        "small int + float": lambda: whole + x,
        "small 2 - x": lambda: 2 - x,
        "small 1 / x": lambda: 1 / x,
        "small x ** 2": lambda: x**2,
        "small x > 0": lambda: x > 0,
        "small -x": lambda: -x,
        "small ~mask": lambda: ~mask,
        "small add out=": lambda: torch.add(x, y, out=out),
        "small where scalars": lambda: torch.where(mask, 1.0, 0.0),
        "small where(mask, x, 0-dim)": lambda: torch.where(mask, x, number),
        "small where one argument": lambda: torch.where(mask),
        "small x[mask]": lambda: x[mask],
        "small x[mask] = 0": lambda: out.__setitem__(mask, 0.0),
        "small x[1:3] = y": lambda: out.__setitem__(slice(1, 3), y[1:3]),
        "small x[rows] += y": lambda: out.index_put_((rows,), y, accumulate=True),
        "small masked_fill_": lambda: out.masked_fill_(mask, 0.0),
        "small masked_select": lambda: x.masked_select(mask),
    }


def other_calls(torch: Any) -> dict[str, Case]:
    """Reductions, orders and layers on 64x1024 numbers."""
    functional = torch.nn.functional
    x, y = torch.randn(64, 1024, device="cuda"), torch.randn(64, 1024, device="cuda")
    whole = torch.randint(0, 1000, (64, 1024), device="cuda")
    out, row = torch.empty_like(x), y[0].clone()
    big = torch.randn(4096, 4096, device="cuda")
    weight, bias = torch.ones(1024, device="cuda"), torch.zeros(1024, device="cuda")
    return {
        "small sum": lambda: x.sum(),
        "small sum dim": lambda: x.sum(1, keepdim=True),
        "small mean dim 0": lambda: x.mean(0),
        "small max": lambda: x.max(),
        "small abs().max()": lambda: x.abs().max(),
        "small std": lambda: x.std(),
        "small var_mean dim": lambda: torch.var_mean(x, 1),
        "small isnan().any()": lambda: x.isnan().any(),
        "small isfinite().all()": lambda: x.isfinite().all(),
        "small argmax": lambda: x.argmax(1),
        "small cumsum": lambda: x.cumsum(1),
        "small topk": lambda: x.topk(8),
        "small sort": lambda: x.sort(1),
        "small sort descending": lambda: x.sort(1, descending=True),
        "small unique": lambda: whole.unique(),
        "small bincount": lambda: torch.bincount(whole.view(-1)),
        "small histc": lambda: x.histc(64),
        "small softmax": lambda: x.softmax(1),
        "small log_softmax": lambda: x.log_softmax(1),
        "small logsumexp": lambda: x.logsumexp(1),
        "small layer_norm": lambda: functional.layer_norm(x, (1024,), weight, bias),
        "small rms_norm": lambda: functional.rms_norm(x, (1024,), weight),
        "small cross_entropy": lambda: functional.cross_entropy(x, whole[:, 0]),
        "small mse_loss": lambda: functional.mse_loss(x, y),
        "small dropout": lambda: functional.dropout(x, 0.1),
        "small relu": lambda: x.relu(),
        "small gelu": lambda: functional.gelu(x),
        "small silu": lambda: functional.silu(x),
        "small relu_": lambda: functional.relu_(out),
        "small gather": lambda: x.gather(1, whole),
        "small one_hot": lambda: functional.one_hot(whole, 1000),
        "small tril": lambda: x.tril(),
        "small flip": lambda: x.flip(1),
        "small diff": lambda: x.diff(),
        "small quantile": lambda: x.quantile(0.9, 1),
        "small renorm": lambda: x.renorm(2, 0, 1.0),
        "small norm": lambda: x.norm(dim=1),
        "small allclose": lambda: torch.allclose(x, x),
        "small equal": lambda: torch.equal(x, x),
        "small clamp_min": lambda: x.clamp_min(0.0),
        "small minimum": lambda: torch.minimum(x, y),
        "small addcmul": lambda: torch.addcmul(x, x, y),
        "small fmod": lambda: x.fmod(0.5),
        "small round": lambda: x.round(),
        "small bitwise": lambda: (whole & 255) << 2,
        "small complex abs": lambda: torch.complex(x, y).abs(),
        "small _foreach_mul": lambda: torch._foreach_mul([x, y, out], 2.0),
        "small searchsorted": lambda: torch.searchsorted(row, x),
        "cumsum 2^26": lambda: big.view(-1).cumsum(0),
    }


def gradient_calls(torch: Any) -> dict[str, Case]:
    """Forward and backward on 64x1024 numbers."""
    functional = torch.nn.functional
    x, y = torch.randn(64, 1024, device="cuda"), torch.randn(64, 1024, device="cuda")
    leaf, rows = x.clone().requires_grad_(), torch.randint(0, 64, (64,), device="cuda")
    table, tokens = (
        torch.randn(1000, 64, device="cuda").requires_grad_(),
        torch.randint(0, 1000, (64, 64), device="cuda"),
    )
    weight, bias = torch.ones(1024, device="cuda"), torch.zeros(1024, device="cuda")
    return {
        "exp fwd+bwd small": both(torch, lambda: leaf.exp(), leaf),
        "add + mul + sum fwd+bwd small": both(torch, lambda: (leaf * y + x).sum(), leaf),
        "layer_norm fwd+bwd small": both(torch, lambda: functional.layer_norm(leaf, (1024,), weight, bias), leaf),
        "embedding fwd+bwd small": both(torch, lambda: functional.embedding(tokens, table), table),
        "view ops fwd+bwd small": both(
            torch, lambda: leaf.view(64, 16, 64).transpose(0, 1).reshape(16, -1)[:, 1:].unsqueeze(0), leaf
        ),
        "x[:, ::2] fwd+bwd small": both(torch, lambda: leaf[:, ::2], leaf),
        "x[rows] fwd+bwd small": both(torch, lambda: leaf[rows], leaf),
        "chunk + cat fwd+bwd small": both(torch, lambda: torch.cat(leaf.chunk(4, 1), 0), leaf),
        "checkpoint-like recompute small": both(torch, lambda: (leaf.tanh() * leaf.sigmoid()).mean(), leaf),
    }


def calls(torch: Any) -> dict[str, Case]:
    """Operators on 64x1024 numbers: the call is what they cost."""
    return {**pointwise_calls(torch), **other_calls(torch), **gradient_calls(torch)}
