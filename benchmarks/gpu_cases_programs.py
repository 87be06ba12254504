"""Further calls that benchmarks/gpu_eager.py times: small tensors, views, copies, draws, attention, optimizers and whole training steps."""

from __future__ import annotations

from typing import Any

from gpu_cases_backward import Case
from gpu_cases_backward import with_gradient as both
from gpu_cases_resnet import residual_networks
from gpu_cases_small import calls
from gpu_cases_training import steps


def programs(torch: Any) -> dict[str, Case]:
    """name -> call: those of the functions of this file."""
    return {
        **calls(torch),
        **views_and_copies(torch),
        **draws(torch),
        **products(torch),
        **attentions(torch),
        **resampled(torch),
        **optimizers(torch),
        **steps(torch),
        **residual_networks(torch),
    }


def views_and_copies(torch: Any) -> dict[str, Case]:
    x, many = torch.randn(64, 1024, device="cuda"), [torch.randn(64, 64, device="cuda") for _ in range(64)]
    big = torch.randn(4096, 4096, device="cuda")
    volume = torch.randn(8, 16, 128, 64, device="cuda")
    host, pinned = torch.randn(1024, 1024), torch.randn(1024, 1024).pin_memory()
    there, label = torch.empty(1024, 1024, device="cuda"), list(range(64))
    return {
        "views: t, [:, 1], [..., None]": lambda: (x.t(), x[:, 1], x[..., None]),
        "views: expand, permute, flatten": lambda: (
            x[:, None].expand(64, 4, 1024),
            volume.permute(0, 2, 1, 3),
            volume.flatten(2),
        ),
        "views: chunk 8, split 128, unbind 64": lambda: (x.chunk(8, 1), x.split(128, 1), x.unbind(0)),
        "reshape copy of a transpose": lambda: volume.transpose(1, 2).reshape(8, 128, 1024),
        "contiguous of a view 64x1024": lambda: x.view(64, 16, 64).transpose(1, 2).contiguous(),
        "cat of 64": lambda: torch.cat(many),
        "stack of 64": lambda: torch.stack(many),
        "clone": lambda: x.clone(),
        "copy_": lambda: there.copy_(there),
        "zeros_like": lambda: torch.zeros_like(x),
        "ones": lambda: torch.ones(64, 1024, device="cuda"),
        "zero_": lambda: there.zero_(),
        "x.half()": lambda: x.half(),
        "x.to(int64)": lambda: x.to(torch.int64),
        "repeat 1024x4096 x4": lambda: big[:1024].repeat(4, 1),
        "tile": lambda: x.tile(2, 2),
        "expand + contiguous": lambda: x[:, None].expand(64, 16, 1024).contiguous(),
        "repeat_interleave dim 1": lambda: volume.repeat_interleave(4, 1),
        "tensor of a number": lambda: torch.tensor(2.0, device="cuda"),
        "tensor of a list": lambda: torch.tensor(label, device="cuda"),
        "to cuda 4 MiB": lambda: host.to("cuda"),
        "to cuda 4 MiB pinned": lambda: pinned.to("cuda", non_blocking=True),
        "copy_ from pinned": lambda: there.copy_(pinned, non_blocking=True),
        "copy_ to pinned": lambda: pinned.copy_(there, non_blocking=True),
        "cpu() 4 MiB": lambda: there.cpu(),
        "tolist 64": lambda: x[0, :64].tolist(),
        "numpy()": lambda: x[0].cpu().numpy(),
        "event record + query": lambda: torch.cuda.Event().record(),
        "arange 64": lambda: torch.arange(64, device="cuda"),
        "linspace 64": lambda: torch.linspace(0, 1, 64, device="cuda"),
        "eye 64": lambda: torch.eye(64, device="cuda"),
        "tril ones": lambda: torch.ones(64, 64, dtype=torch.bool, device="cuda").tril(),
        "new_zeros": lambda: x.new_zeros(64, 64),
        "full_like": lambda: torch.full_like(x, 3.0),
    }


def draws(torch: Any) -> dict[str, Case]:
    x, chance = torch.randn(64, 1024, device="cuda"), torch.rand(64, 1024, device="cuda")
    big, odds = torch.empty(4096, 4096, device="cuda"), torch.rand(4096, 4096, device="cuda")
    functional = torch.nn.functional
    return {
        "randn small": lambda: torch.randn(64, 1024, device="cuda"),
        "rand small": lambda: torch.rand(64, 1024, device="cuda"),
        "randint small": lambda: torch.randint(0, 1000, (64, 1024), device="cuda"),
        "randn_like bf16": lambda: torch.randn(64, 1024, dtype=torch.bfloat16, device="cuda"),
        "uniform_ small": lambda: x.uniform_(-1, 1),
        "randperm small": lambda: torch.randperm(1024, device="cuda"),
        "bernoulli small": lambda: torch.bernoulli(chance),
        "bernoulli_ small": lambda: x.bernoulli_(0.5),
        "exponential_ small": lambda: x.exponential_(),
        "multinomial small": lambda: torch.multinomial(chance, 1),
        "multinomial small, 64 with replacement": lambda: torch.multinomial(chance, 64, True),
        "gumbel_softmax small": lambda: functional.gumbel_softmax(x),
        "exponential_ 4096x4096": lambda: big.exponential_(),
        "geometric_ 4096x4096": lambda: big.geometric_(0.3),
        "cauchy_ 4096x4096": lambda: big.cauchy_(),
        "log_normal_ 4096x4096": lambda: big.log_normal_(),
        "normal_ 4096x4096": lambda: big.normal_(1.0, 2.0),
        "bernoulli 4096x4096": lambda: torch.bernoulli(odds),
        "bernoulli_ 4096x4096": lambda: big.bernoulli_(0.3),
        "random_ 4096x4096": lambda: big.random_(0, 100),
        "poisson 4096x4096": lambda: torch.poisson(odds),
        "normal of means": lambda: torch.normal(odds, 1.0),
        "rrelu": lambda: functional.rrelu(x, training=True),
        "multinomial 64x32000": lambda q=torch.rand(64, 32000, device="cuda"): torch.multinomial(q, 1),
        "sample of a categorical": lambda: torch.distributions.Categorical(logits=x, validate_args=False).sample(),
    }


def products(torch: Any) -> dict[str, Case]:
    functional = torch.nn.functional

    def r(*s: int) -> Any:
        return torch.randn(*s, device="cuda")

    a, b, v = r(64, 64), r(64, 64), r(64)
    heads, keys = r(8, 16, 128, 64).bfloat16(), r(8, 16, 128, 64).bfloat16()
    wide, weight, bias = r(4096, 4096).bfloat16(), r(4096, 4096).bfloat16(), r(4096).bfloat16()
    x, w, c = r(64, 1024), r(1024, 1024), r(1024)
    xl, wl = r(64, 1024).requires_grad_(), r(1024, 1024).requires_grad_()
    batch, doubles = r(32, 64, 64), r(256, 256).double()
    bilinear = torch.nn.Bilinear(32, 32, 16).cuda()
    return {
        "mm 64": lambda: a @ b,
        "mm 64 float64": lambda: doubles @ doubles,
        "mm 64x1024x1024 bf16": lambda h=x.bfloat16(), k=w.bfloat16(): h @ k,
        "mm 4096 bf16": lambda: wide @ weight,
        "mm half 1024": lambda h=w.half(): h @ h,
        "x @ w.T": lambda: x @ w.T,
        "mv 64": lambda: a @ v,
        "dot 64": lambda: v @ v,
        "linear 64x1024": lambda: functional.linear(x, w, c),
        "linear 4096 bf16": lambda: functional.linear(wide, weight, bias),
        "linear 64x1024 fwd+bwd": both(torch, lambda: functional.linear(xl, wl, c), xl, wl),
        "addmm 64x1024": lambda: torch.addmm(c, x, w),
        "bmm 32x64": lambda: torch.bmm(batch, batch),
        "baddbmm 32x64": lambda: torch.baddbmm(batch, batch, batch, beta=0.5),
        "matmul heads bf16": lambda: heads @ keys.transpose(-1, -2),
        "einsum bhid,bhjd->bhij": lambda: torch.einsum("bhid,bhjd->bhij", heads, keys),
        "einsum ij,jk->ik": lambda: torch.einsum("ij,jk->ik", a, b),
        "einsum ij,j->i": lambda: torch.einsum("ij,j->i", a, v),
        "einsum ...d,d->...": lambda: torch.einsum("bhid,d->bhi", heads, bias[:64]),
        "chain_matmul": lambda: torch.linalg.multi_dot([a, b, a]),
        "bilinear": lambda: bilinear(a[:, :32], b[:, :32]),
        "int8 _int_mm": lambda q=torch.randint(-9, 9, (1024, 1024), dtype=torch.int8, device="cuda"): torch._int_mm(
            q, q
        ),
    }


def attentions(torch: Any) -> dict[str, Case]:
    sdpa = torch.nn.functional.scaled_dot_product_attention

    def heads(*s: int, dtype: Any = torch.bfloat16) -> list[Any]:
        return [torch.randn(*s, device="cuda").to(dtype).requires_grad_() for _ in range(3)]

    base, fp16, full = (
        heads(4, 16, 1024, 64),
        heads(4, 16, 1024, 64, dtype=torch.float16),
        heads(4, 16, 1024, 64, dtype=torch.float32),
    )
    wide, long, tiny = heads(4, 16, 1024, 128), heads(1, 16, 4096, 128), heads(2, 4, 64, 32)
    tiny32 = heads(2, 4, 64, 32, dtype=torch.float32)
    mask = torch.rand(1024, 1024, device="cuda") > 0.1
    bias = torch.randn(4, 16, 1024, 1024, device="cuda").bfloat16()
    one = [torch.randn(8, 32, n, 128, device="cuda").bfloat16() for n in (1, 2048, 2048)]
    few = [
        [torch.randn(1, h, n, 128, device="cuda").bfloat16() for h, n in ((32, r), (8, 8192), (8, 8192))]
        for r in (1, 16)
    ]
    small = [torch.randn(1, 32, n, 64, device="cuda").bfloat16() for n in (1, 4096, 4096)]
    seen = torch.arange(8192, device="cuda") > 100
    grouped = [torch.randn(4, h, 1024, 128, device="cuda").bfloat16() for h in (32, 8, 8)]
    p = 0.1

    def plain(ts: list[Any]) -> list[Any]:
        return [t.detach() for t in ts]

    found: dict[str, Case] = {
        "sdpa fp16": lambda a=plain(fp16): sdpa(*a),
        "sdpa 128 bf16": lambda a=plain(wide): sdpa(*a),
        "sdpa 128 causal bf16": lambda a=plain(wide): sdpa(*a, is_causal=True),
        "sdpa 4096x128 causal bf16": lambda a=plain(long): sdpa(*a, is_causal=True),
        "sdpa bias bf16": lambda a=plain(base): sdpa(*a, bias),
        "sdpa dropout bf16": lambda a=plain(base): sdpa(*a, dropout_p=p),
        "sdpa causal float32": lambda a=plain(full): sdpa(*a, is_causal=True),
        "sdpa mask float32": lambda a=plain(full): sdpa(*a, mask),
        "sdpa decode 1x2048x128": lambda: sdpa(*one),
        "sdpa decode 32/8, 8192x128": lambda: sdpa(*few[0], enable_gqa=True),
        "sdpa decode 32/8, masked": lambda: sdpa(*few[0], seen, enable_gqa=True),
        "sdpa 16 queries 32/8": lambda: sdpa(*few[1], enable_gqa=True),
        "sdpa decode 1x4096x64": lambda: sdpa(*small),
        "sdpa grouped 32/8": lambda: sdpa(*grouped, enable_gqa=True),
        "sdpa tiny bf16": lambda a=plain(tiny): sdpa(*a),
        "sdpa tiny float32": lambda a=plain(tiny32): sdpa(*a),
        "sdpa fp16 fwd+bwd": both(torch, lambda: sdpa(*fp16), *fp16),
        "sdpa 128 causal fwd+bwd": both(torch, lambda: sdpa(*wide, is_causal=True), *wide),
        "sdpa 4096x128 causal fwd+bwd": both(torch, lambda: sdpa(*long, is_causal=True), *long),
        "sdpa mask fwd+bwd": both(torch, lambda: sdpa(*base, mask), *base),
        "sdpa dropout fwd+bwd": both(torch, lambda: sdpa(*base, dropout_p=p), *base),
        "sdpa float32 fwd+bwd": both(torch, lambda: sdpa(*full), *full),
        "sdpa causal float32 fwd+bwd": both(torch, lambda: sdpa(*full, is_causal=True), *full),
        "sdpa tiny fwd+bwd": both(torch, lambda: sdpa(*tiny), *tiny),
        "sdpa tiny float32 fwd+bwd": both(torch, lambda: sdpa(*tiny32), *tiny32),
    }
    return found


def resampled(torch: Any) -> dict[str, Case]:
    functional = torch.nn.functional
    x = torch.randn(16, 64, 56, 56, device="cuda").requires_grad_()
    small = torch.randn(2, 16, 28, 28, device="cuda").requires_grad_()
    volume = torch.randn(2, 16, 16, 32, 32, device="cuda").requires_grad_()
    theta = torch.randn(16, 2, 3, device="cuda").requires_grad_()
    weight = torch.randn(16, 16, 3, 3, device="cuda").requires_grad_()
    scale = torch.ones(16, device="cuda").requires_grad_()
    mean, var = torch.zeros(16, device="cuda"), torch.ones(16, device="cuda")
    columns = functional.unfold(x.detach(), 3, padding=1).requires_grad_()
    lstm, gru = torch.nn.LSTMCell(256, 256).cuda(), torch.nn.GRUCell(256, 256).cuda()
    rows = torch.randn(64, 256, device="cuda").requires_grad_()
    up = functional.interpolate
    return {
        "conv2d small": lambda: functional.conv2d(small, weight, padding=1),
        "conv2d small fwd+bwd": both(torch, lambda: functional.conv2d(small, weight, padding=1), small, weight),
        "batch_norm small fwd+bwd": both(
            torch, lambda: functional.batch_norm(small, mean, var, scale, scale, True), small, scale
        ),
        "instance_norm small": lambda: functional.instance_norm(small),
        "group_norm small fwd+bwd": both(torch, lambda: functional.group_norm(small, 4, scale, scale), small, scale),
        "max_pool2d small fwd+bwd": both(torch, lambda: functional.max_pool2d(small, 2), small),
        "nearest small": lambda: up(small, scale_factor=2),
        "bilinear small": lambda: up(small, scale_factor=2, mode="bilinear"),
        "bilinear antialias fwd+bwd": both(torch, lambda: up(x, (28, 28), mode="bilinear", antialias=True), x),
        "bicubic fwd+bwd": both(torch, lambda: up(x, scale_factor=2, mode="bicubic"), x),
        "trilinear fwd+bwd": both(torch, lambda: up(volume, scale_factor=2, mode="trilinear"), volume),
        "nearest 3d": lambda: up(volume, scale_factor=2),
        "unfold fwd+bwd": both(torch, lambda: functional.unfold(x, 3, padding=1), x),
        "fold fwd+bwd": both(torch, lambda: functional.fold(columns, 56, 3, padding=1), columns),
        "pixel_shuffle fwd+bwd": both(torch, lambda: functional.pixel_shuffle(x, 2), x),
        "pixel_unshuffle": lambda: functional.pixel_unshuffle(x, 2),
        "affine_grid fwd+bwd": both(
            torch, lambda: functional.affine_grid(theta, [16, 64, 56, 56], align_corners=False), theta
        ),
        "pad replicate fwd+bwd": both(torch, lambda: functional.pad(x, (1, 1, 1, 1), mode="replicate"), x),
        "pad constant fwd+bwd": both(torch, lambda: functional.pad(x, (1, 1, 1, 1)), x),
        "LSTMCell fwd+bwd": both(torch, lambda: lstm(rows)[0], rows, *lstm.parameters()),
        "GRUCell fwd+bwd": both(torch, lambda: gru(rows), rows, *gru.parameters()),
        "GRUCell": lambda: gru(rows),
        "TransformerEncoderLayer-like unfold views": lambda: x.unfold(2, 4, 4).unfold(3, 4, 4),
        "channel shuffle": lambda: functional.channel_shuffle(x, 4),
    }


def optimizers(torch: Any) -> dict[str, Case]:
    def parameters() -> list[Any]:
        found = [torch.randn(*s, device="cuda", requires_grad=True) for s in [(256, 256), (256,)] * 16]
        for p in found:
            p.grad = torch.randn_like(p) * 1e-3
        return found

    kinds: dict[str, dict[str, Any]] = {
        "SGD": {"lr": 1e-4}, "Adam": {"lr": 1e-4}, "AdamW": {"lr": 1e-4}, "RMSprop": {"lr": 1e-4}, "Adagrad": {"lr": 1e-4},
        "NAdam": {"lr": 1e-4}, "RAdam": {"lr": 1e-4}, "Adamax": {"lr": 1e-4}, "Adadelta": {"lr": 1e-4},
    }  # fmt: skip
    found: dict[str, Case] = {
        f"{kind} step, 32 small": getattr(torch.optim, kind)(parameters(), **options).step
        for kind, options in kinds.items()
    }
    found["SGD momentum step, 32 small"] = torch.optim.SGD(parameters(), lr=1e-4, momentum=0.9, nesterov=True).step
    found["AdamW fused step, 32 small"] = torch.optim.AdamW(parameters(), lr=1e-4, fused=True).step
    found["Adam for loop step, 32 small"] = torch.optim.Adam(parameters(), lr=1e-4, foreach=False).step
    shrunk, scaled = parameters(), parameters()
    found["clip_grad_norm_ 32 small"] = lambda: torch.nn.utils.clip_grad_norm_(shrunk, 1.0)
    found["clip_grad_value_ 32 small"] = lambda: torch.nn.utils.clip_grad_value_(shrunk, 1.0)
    sgd = torch.optim.SGD(scaled, lr=1e-4)

    def zeroed() -> None:
        sgd.zero_grad(set_to_none=False)

    found["zero_grad to zeros, 32 small"] = zeroed
    return found
