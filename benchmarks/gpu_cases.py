"""The operators that benchmarks/gpu_eager.py times, for a torch (ours or PyTorch) and, where it has them, for CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Case = Callable[[], Any]


def operators(torch: Any) -> dict[str, Case]:
    """name -> call, on data of the sizes that transformer code has: 4096 tokens, 4096 channels, a vocabulary of 32000."""
    functional = torch.nn.functional
    torch.manual_seed(0)
    x = torch.randn(4096, 4096, device="cuda")
    half = x.bfloat16()
    weight, bias = torch.randn(4096, device="cuda"), torch.randn(4096, device="cuda")
    hw, hb = weight.bfloat16(), bias.bfloat16()
    table = torch.randn(32000, 1024, device="cuda").bfloat16()
    tokens = torch.randint(0, 32000, (4096,), device="cuda")
    logits = torch.randn(4096, 32000, device="cuda").bfloat16()
    image = torch.randn(16, 256, 64, 64, device="cuda")
    channel = torch.randn(256, device="cuda")
    places = torch.randint(0, 4096, (4096, 64), device="cuda")
    mask = x > 0
    small = torch.randn(16, 1024, device="cuda")
    whole = torch.randint(0, 1000, (4096, 4096), device="cuda")
    found: dict[str, Case] = {
        "cat 2 x 4096x4096 bf16, dim 1": lambda: torch.cat([half, half], 1),
        "cat 8 x 16x1024": lambda: torch.cat([small] * 8, 0),
        "stack 4 x 4096x4096 bf16": lambda: torch.stack([half] * 4),
        "embedding 4096 of 32000x1024 bf16": lambda: functional.embedding(tokens, table),
        "index_select 4096 rows bf16": lambda: table.index_select(0, tokens),
        "x[index] 4096 rows bf16": lambda: table[tokens],
        "gather 4096x64 of 4096x4096": lambda: x.gather(1, places),
        "scatter_add 4096x64": lambda: torch.zeros_like(x).scatter_add_(1, places, x[:, :64]),
        "index_add 4096 rows": lambda: torch.zeros(32000, 1024, device="cuda").index_add_(0, tokens, x[:, :1024]),
        "layer_norm 4096x4096": lambda: functional.layer_norm(x, (4096,), weight, bias),
        "layer_norm 4096x4096 bf16": lambda: functional.layer_norm(half, (4096,), hw, hb),
        "layer_norm 16x1024": lambda: functional.layer_norm(small, (1024,)),
        "rms_norm 4096x4096 bf16": lambda: functional.rms_norm(half, (4096,), hw),
        "group_norm 16x256x64x64": lambda: functional.group_norm(image, 32, channel, channel),
        "cross_entropy 4096x32000 bf16": lambda: functional.cross_entropy(logits, tokens),
        "log_softmax 4096x32000 bf16": lambda: torch.log_softmax(logits, -1),
        "dropout 4096x4096 bf16": lambda: functional.dropout(half, 0.1, True),
        "randn 4096x4096": lambda: torch.randn(4096, 4096, device="cuda"),
        "rand 4096x4096": lambda: torch.rand(4096, 4096, device="cuda"),
        "randint 4096x4096": lambda: torch.randint(0, 1000, (4096, 4096), device="cuda"),
        "argmax 4096x4096": lambda: x.argmax(-1),
        "max 4096x4096, dim 1": lambda: x.max(1),
        "argmax 4096x32000 bf16": lambda: logits.argmax(-1),
        "topk 50 of 4096": lambda: x.topk(50),
        "topk 50 of 16x32000 bf16": lambda: logits[:16].topk(50),
        "topk 2 of 4096x64": lambda: places.topk(2),
        "sort 4096x1024": lambda: x[:, :1024].contiguous().sort(-1),
        "sort 16x32000 bf16": lambda: logits[:16].sort(-1),
        "argsort 2^20 int64": lambda: whole.view(-1)[: 1 << 20].argsort(),
        "cumsum 4096x4096": lambda: x.cumsum(-1),
        "cumsum 4096x4096, dim 0": lambda: x.cumsum(0),
        "cumsum 2^24": lambda: x.view(-1).cumsum(0),
        "arange 4096": lambda: torch.arange(4096, device="cuda"),
        "masked_fill 4096x4096": lambda: x.masked_fill(mask, -1.0),
        "where 4096x4096": lambda: torch.where(mask, x, 0.0),
        "transpose copy 4096x4096 bf16": lambda: half.t().contiguous(),
        "permute copy 16x256x64x64": lambda: image.permute(0, 2, 3, 1).contiguous(),
        "x[mask] 4096x4096": lambda: x[mask],
        "nonzero 4096x4096": lambda: mask.nonzero(),
        "tril 4096x4096": lambda: x.tril(),
        "var 4096x4096, dim 1": lambda: x.var(1),
        "softmax bf16 4096x4096": lambda: half.softmax(-1),
        "one_hot 4096 of 64": lambda: functional.one_hot(places[:, 0] % 64, 64),
    }
    return {**found, **gradients(torch)}


def gradients(torch: Any) -> dict[str, Case]:
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


def cupy_operators(cupy: Any) -> dict[str, Case]:
    """The same names, of what CuPy has in one function."""
    x = cupy.random.standard_normal((4096, 4096), dtype=cupy.float32)
    small = x[:16, :1024].copy()
    image = cupy.random.standard_normal((16, 256, 64, 64), dtype=cupy.float32)
    places = cupy.random.randint(0, 4096, (4096, 64))
    whole = cupy.random.randint(0, 1000, 1 << 20)
    mask = x > 0
    return {
        "cat 8 x 16x1024": lambda: cupy.concatenate([small] * 8, 0),
        "gather 4096x64 of 4096x4096": lambda: cupy.take_along_axis(x, places, 1),
        "randn 4096x4096": lambda: cupy.random.standard_normal((4096, 4096), dtype=cupy.float32),
        "rand 4096x4096": lambda: cupy.random.random((4096, 4096), dtype=cupy.float32),
        "randint 4096x4096": lambda: cupy.random.randint(0, 1000, (4096, 4096)),
        "argmax 4096x4096": lambda: x.argmax(-1),
        "sort 4096x1024": lambda: cupy.sort(x[:, :1024].copy(), -1),
        "argsort 2^20 int64": lambda: cupy.argsort(whole),
        "cumsum 4096x4096": lambda: cupy.cumsum(x, -1),
        "cumsum 4096x4096, dim 0": lambda: cupy.cumsum(x, 0),
        "cumsum 2^24": lambda: cupy.cumsum(x.reshape(-1)),
        "arange 4096": lambda: cupy.arange(4096),
        "where 4096x4096": lambda: cupy.where(mask, x, cupy.float32(0)),
        "permute copy 16x256x64x64": lambda: cupy.ascontiguousarray(image.transpose(0, 2, 3, 1)),
        "x[mask] 4096x4096": lambda: x[mask],
        "nonzero 4096x4096": lambda: cupy.nonzero(mask),
        "tril 4096x4096": lambda: cupy.tril(x),
        "var 4096x4096, dim 1": lambda: x.var(1, ddof=1),
    }
