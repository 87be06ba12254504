"""Further calls that benchmarks/gpu_eager.py times: small tensors, views, copies, draws, attention, optimizers and whole training steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu_cases_layers import with_gradient as both

Case = Callable[[], Any]


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
    }


def calls(torch: Any) -> dict[str, Case]:
    """Operators on 64x1024 numbers: the call is what they cost."""
    functional = torch.nn.functional
    x, y = torch.randn(64, 1024, device="cuda"), torch.randn(64, 1024, device="cuda")
    half, whole, mask = x.bfloat16(), torch.randint(0, 1000, (64, 1024), device="cuda"), x > 0
    out, number, row = torch.empty_like(x), torch.tensor(2.0, device="cuda"), y[0].clone()
    rows = torch.randint(0, 64, (64,), device="cuda")
    leaf = x.clone().requires_grad_()
    table = torch.randn(1000, 64, device="cuda").requires_grad_()
    tokens, big = whole[:, :64].contiguous(), torch.randn(4096, 4096, device="cuda")
    weight, bias = torch.ones(1024, device="cuda"), torch.zeros(1024, device="cuda")
    found: dict[str, Case] = {
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
    return found


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


def steps(torch: Any) -> dict[str, Case]:
    """Training steps: gradients to None, forward, loss, backward, the optimizer."""
    nn, functional = torch.nn, torch.nn.functional
    torch.manual_seed(0)

    def trained(
        model: Any, inputs: Any, loss: Callable[[Any], Any], kind: str = "AdamW", amp: bool = False, clip: bool = False
    ) -> Case:
        model = model.cuda()
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=1e-4)

        def run() -> None:
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=amp):
                out = loss(model(inputs))
            out.backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        return run

    def mlp() -> Any:
        return nn.Sequential(
            nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 10)
        )

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.qkv, self.out = nn.Linear(256, 768), nn.Linear(256, 256)
            self.first, self.second = nn.LayerNorm(256), nn.LayerNorm(256)
            self.up, self.down = nn.Linear(256, 1024), nn.Linear(1024, 256)

        def forward(self, x: Any) -> Any:
            b, n, c = x.shape
            q, k, v = self.qkv(self.first(x)).view(b, n, 3, 8, 32).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(b, n, c))
            return x + self.down(functional.gelu(self.up(self.second(x))))

    class Language(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(1000, 256), nn.Embedding(128, 256)
            self.blocks = nn.ModuleList([Block() for _ in range(2)])
            self.norm, self.head = nn.LayerNorm(256), nn.Linear(256, 1000, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.words(tokens) + self.places(torch.arange(tokens.size(1), device=tokens.device))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    def residual() -> Any:
        return nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
        )  # fmt: skip

    rows, labels = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
    tokens = torch.randint(0, 1000, (4, 128), device="cuda")
    image = torch.randn(16, 3, 32, 32, device="cuda")
    marks = torch.randint(0, 10, (16,), device="cuda")

    def ranked(out: Any) -> Any:
        return functional.cross_entropy(out, labels)

    def next_words(out: Any) -> Any:
        return functional.cross_entropy(out.view(-1, 1000), tokens.view(-1))

    encoder = nn.Sequential(
        nn.TransformerEncoderLayer(256, 8, 512, 0.0, batch_first=True), nn.Flatten(1), nn.Linear(256 * 32, 10)
    )
    words = torch.randn(16, 32, 256, device="cuda")
    model, static = mlp().cuda().eval(), torch.randn(64, 256, device="cuda")
    found = {
        "step MLP SGD": trained(mlp(), rows, ranked, "SGD"),
        "step MLP AdamW": trained(mlp(), rows, ranked),
        "step MLP AdamW autocast, clipped": trained(mlp(), rows, ranked, amp=True, clip=True),
        "step language model": trained(Language(), tokens, next_words),
        "step language model autocast": trained(Language(), tokens, next_words, amp=True),
        "step convolutions": trained(residual(), image, lambda out: functional.cross_entropy(out, marks)),
        "step TransformerEncoderLayer": trained(encoder, words, lambda out: functional.cross_entropy(out, marks)),
        "forward MLP": lambda: model(static),
    }
    try:
        found["replay of a captured step"] = captured(torch, mlp(), rows, ranked)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"

        def failed() -> None:
            raise RuntimeError(message)

        found["replay of a captured step"] = failed
    return found


def captured(torch: Any, model: Any, rows: Any, loss: Callable[[Any], Any]) -> Case:
    model = model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss(model(rows)).backward()
        optimizer.step()

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
