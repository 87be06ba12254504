"""The operators that benchmarks/gpu_eager.py times, for a torch (ours or PyTorch) and, where it has them, for CuPy."""

from __future__ import annotations

from typing import Any

from gpu_cases_backward import Case, transformer_backward
from gpu_cases_layers import layers
from gpu_cases_programs import programs


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
    }
    orders = _orders_and_copies(torch, x, half, logits, image, places, mask)
    return {**found, **orders, **transformer_backward(torch), **more(torch), **layers(torch), **programs(torch)}


def _orders_and_copies(
    torch: Any, x: Any, half: Any, logits: Any, image: Any, places: Any, mask: Any
) -> dict[str, Case]:
    """Extremes, orders, scans, masks and transposed copies of these tensors."""
    functional = torch.nn.functional
    whole = torch.randint(0, 1000, (4096, 4096), device="cuda")
    return {
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


def copies_and_orders(torch: Any) -> dict[str, Case]:
    """Broadcasts, copies, orders and counts."""
    x = torch.randn(4096, 4096, device="cuda")
    half = x.bfloat16()
    bias, column = torch.randn(4096, device="cuda").bfloat16(), torch.rand(4096, 1, device="cuda").bfloat16()
    flat = x.view(-1)
    experts = torch.randint(0, 64, (16384,), device="cuda")
    spread = torch.sort(torch.randn(4096, device="cuda")).values
    whole = torch.randint(0, 1000, (1 << 22,), device="cuda")
    return {
        "x + bias 4096x4096 bf16": lambda: half + bias,
        "x * column 4096x4096 bf16": lambda: half * column,
        "halves x[:, :n] * x[:, n:] bf16": lambda: half[:, :2048] * half[:, 2048:],
        "to float32 4096x4096": lambda: half.float(),
        "column slice copy 4096x2048 bf16": lambda: half[:, :2048].contiguous(),
        "heads permute copy 4x1024x32x128 bf16": lambda: half.view(4, 1024, 32, 128).permute(0, 2, 1, 3).contiguous(),
        "sort 2^22": lambda: flat[: 1 << 22].sort(),
        "sort 4096x4096": lambda: x.sort(-1),
        "sort 4096x64": lambda: x[:, :64].contiguous().sort(-1),
        "topk 50 of 1x2^20": lambda: flat[: 1 << 20].topk(50),
        "topk 2 of 4096x64 float32": lambda: x[:, :64].contiguous().topk(2),
        "argsort 16384 experts": lambda: experts.argsort(stable=True),
        "bincount 16384 of 64": lambda: torch.bincount(experts, minlength=64),
        "unique 16384 of 64": lambda: torch.unique(experts),
        "unique 2^22 of 1000, inverse": lambda: torch.unique(whole, return_inverse=True),
        "unique_consecutive 2^22": lambda: torch.unique_consecutive(whole),
        "bincount 2^22 of 1000": lambda: torch.bincount(whole),
        "bincount 2^22 of 1000, weights": lambda: torch.bincount(whole, flat[: 1 << 22]),
        "searchsorted 4096x4096 in 4096": lambda: torch.searchsorted(spread, x),
    }


def reductions(torch: Any) -> dict[str, Case]:
    """Sums, extremes and norms."""
    x = torch.randn(4096, 4096, device="cuda")
    half = x.bfloat16()
    small = torch.randn(64, 1024, device="cuda")
    double, long = x.double(), x.long()
    return {
        "cumprod 4096x4096": lambda: x.cumprod(-1),
        "logcumsumexp 4096x4096": lambda: x.logcumsumexp(-1),
        "cummax 4096x4096": lambda: x.cummax(-1),
        "logsumexp 4096x4096": lambda: x.logsumexp(-1),
        "mean 4096x4096, dim 0": lambda: x.mean(0),
        "mean 4096x4096 bf16, dim 0": lambda: half.mean(0),
        "sum 4096x4096 float64, dim 0": lambda: double.sum(0),
        "sum 4096x4096 int64, dim 0": lambda: long.sum(0),
        "amax 4096x4096 float64, dim 0": lambda: double.amax(0),
        "sum 16x4096x256, dim 1": lambda: x.view(16, 4096, 256).sum(1),
        "logsumexp 4096x4096 bf16": lambda: half.logsumexp(-1),
        "mean 4096x4096, dim 1": lambda: x.mean(1),
        "amax 4096x4096": lambda: x.amax(-1),
        "prod 4096x4096": lambda: x.prod(-1),
        "any 4096x4096": lambda: (x > 5).any(),
        "all 64x1024, dim 1": lambda: small.all(1),
        "norm 4096x4096": lambda: x.norm(),
        "norm 4096x4096, dim 1": lambda: torch.linalg.vector_norm(x, dim=1),
    }


def pointwise_and_rows(torch: Any) -> dict[str, Case]:
    """Pointwise calls, rows that are moved, and writes by index."""
    functional = torch.nn.functional
    x = torch.randn(4096, 4096, device="cuda")
    y = x + 1
    experts = torch.randint(0, 64, (16384,), device="cuda")
    small, other = torch.randn(64, 1024, device="cuda"), torch.randn(64, 1024, device="cuda")
    index = torch.randint(0, 64, (64,), device="cuda")
    spots, rows = torch.randint(0, 4096, (4096, 4096), device="cuda"), torch.randint(0, 4096, (4096,), device="cuda")
    return {
        "clamp 4096x4096": lambda: x.clamp(-1, 1),
        "lerp 4096x4096": lambda: x.lerp(y, 0.1),
        "addcmul 4096x4096": lambda: torch.addcmul(x, x, y, value=0.5),
        "addcdiv 4096x4096": lambda: torch.addcdiv(x, x, y, value=0.5),
        "clamp 64x1024": lambda: small.clamp(-1, 1),
        "lerp 64x1024": lambda: small.lerp(other, 0.1),
        "addcmul 64x1024": lambda: torch.addcmul(small, small, other, value=0.5),
        "where 64x1024": lambda: torch.where(small > 0, small, other),
        "flip 4096x4096": lambda: x.flip(1),
        "roll 4096x4096": lambda: x.roll(1, 1),
        "pad 4096x4096": lambda: functional.pad(x, (1, 1)),
        "repeat_interleave 64x1024": lambda: small.repeat_interleave(4, 0),
        "repeat 64x1024": lambda: small.repeat(4, 1),
        "index_put 64x1024": lambda: small.index_put_((index,), other),
        "index_copy 64x1024": lambda: small.index_copy(0, index, other),
        "index_fill 64x1024": lambda: small.index_fill(0, index, 1.0),
        "scatter_reduce 64x1024": lambda: small.scatter_reduce(0, index.unsqueeze(1).expand(64, 1024), other, "amax"),
        "index_fill 4096x4096": lambda: x.index_fill(0, index, 1.0),
        "index_copy 4096x4096": lambda: x.index_copy(0, index, x[:64]),
        "scatter_reduce sum 4096x4096": lambda: x.scatter_reduce(0, spots, y, "sum"),
        "scatter_reduce mean 4096x4096": lambda: x.scatter_reduce(0, spots, y, "mean"),
        "scatter_reduce amax 4096x4096": lambda: x.scatter_reduce(0, spots, y, "amax"),
        "index_reduce amax 4096x4096": lambda: x.index_reduce(0, rows, y, "amax"),
        "masked_scatter 4096x4096": lambda: x.masked_scatter(y > 1, y),
        "masked_scatter 64x1024": lambda: small.masked_scatter(other > 0, other),
        "isin 16384 of 64": lambda: torch.isin(experts, index),
        "nan_to_num 64x1024": lambda: torch.nan_to_num(small),
        "histc 4096x4096": lambda: x.histc(100),
    }


def losses_and_lists(torch: Any) -> dict[str, Case]:
    """Losses, activations, factories and lists of tensors."""
    functional = torch.nn.functional
    x = torch.randn(4096, 4096, device="cuda")
    y, half = x + 1, x.bfloat16()
    small, other = torch.randn(64, 1024, device="cuda"), torch.randn(64, 1024, device="cuda")
    parameters = [torch.randn(256, 1024, device="cuda", requires_grad=True) for _ in range(32)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    plain = [p.detach() for p in parameters]
    adam = torch.optim.AdamW(parameters, lr=1e-3, foreach=True)
    sgd = torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, foreach=True)
    wanted = x.clone().requires_grad_()

    def mse_both() -> None:
        wanted.grad = None
        functional.mse_loss(wanted, y).backward()

    return {
        "mse_loss 4096x4096": lambda: functional.mse_loss(x, y),
        "mse_loss fwd+bwd 4096x4096": mse_both,
        "mse_loss 4096x4096 bf16": lambda: functional.mse_loss(half, half),
        "smooth_l1_loss 4096x4096": lambda: functional.smooth_l1_loss(x, y),
        "flip 4096x4096 bf16": lambda: half.flip(1),
        "flip 4096x4096, both": lambda: x.flip(0, 1),
        "l1_loss 64x1024": lambda: functional.l1_loss(small, other),
        "smooth_l1_loss 64x1024": lambda: functional.smooth_l1_loss(small, other),
        "bce_with_logits 64x1024": lambda: functional.binary_cross_entropy_with_logits(small, other),
        "kl_div 64x1024": lambda: functional.kl_div(small, other, reduction="batchmean"),
        "softplus 64x1024": lambda: functional.softplus(small),
        "leaky_relu 64x1024": lambda: functional.leaky_relu(small),
        "hardswish 64x1024": lambda: functional.hardswish(small),
        "mish 64x1024": lambda: functional.mish(small),
        "elu 64x1024": lambda: functional.elu(small),
        "glu 64x1024": lambda: functional.glu(small),
        "normalize 64x1024": lambda: functional.normalize(small, dim=1),
        "cosine_similarity 64x1024": lambda: functional.cosine_similarity(small, other),
        "outer 1024x1024": lambda: torch.outer(small[0], small[1]),
        "meshgrid + stack 1024": lambda: torch.stack(torch.meshgrid(small[0], small[1], indexing="ij")),
        "triu_indices 64": lambda: torch.triu_indices(64, 64, device="cuda"),
        "full 1024": lambda: torch.full((1024,), 2.0, device="cuda"),
        "linspace 1024": lambda: torch.linspace(0, 1, 1024, device="cuda"),
        "_foreach_add 32": lambda: torch._foreach_add(plain, 1.0),
        "_foreach_mul_ 32": lambda: torch._foreach_mul_(plain, 1.0),
        "_foreach_norm 32": lambda: torch._foreach_norm(plain),
        "clip_grad_norm_ 32": lambda: torch.nn.utils.clip_grad_norm_(parameters, 1.0),
        "AdamW step, 32 x 256x1024": adam.step,
        "SGD step, 32 x 256x1024": sgd.step,
    }


def more(torch: Any) -> dict[str, Case]:
    """Operators of optimizers, masks, losses and routing, on one large tensor or where it is the call itself that costs."""
    return {**copies_and_orders(torch), **reductions(torch), **pointwise_and_rows(torch), **losses_and_lists(torch)}


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
