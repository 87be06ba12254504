"""Calls of the wide CPU benchmark: what the host does around kernels, optimizers, and whole training steps."""

from __future__ import annotations

import io
from typing import Any

from side_by_side import Cases


def host_cases(torch: Any) -> Cases:
    """Small calls whose time is the host's."""
    a, b, m = torch.randn(8), torch.randn(8), torch.randn(8, 8)
    cube, one, k, index = torch.randn(4, 8, 8), torch.randn(1), torch.arange(8), torch.tensor([3, 1, 2])
    mask, vec, flag = a > 0, torch.randn(1000), torch.tensor(True)
    f = torch.nn.functional
    half = m.to(torch.bfloat16)
    listed = [[1.0, 2.0], [3.0, 4.0]]
    return {
        "item": lambda: one.item(),
        "float()": lambda: float(one),
        "bool()": lambda: bool(flag),
        "int()": lambda: int(k[0]),
        "tolist 8": lambda: a.tolist(),
        "len": lambda: len(m),
        "shape": lambda: m.shape,
        "size(0)": lambda: m.size(0),
        "dtype == float32": lambda: m.dtype == torch.float32,
        "device": lambda: m.device,
        "device.type": lambda: m.device.type,
        "numel": lambda: m.numel(),
        "stride": lambda: m.stride(),
        "is_contiguous": lambda: m.is_contiguous(),
        "data_ptr": lambda: m.data_ptr(),
        "requires_grad": lambda: m.requires_grad,
        "dim": lambda: m.dim(),
        "is_floating_point": lambda: m.is_floating_point(),
        "iterate 8x8": lambda: list(m),
        "x[0]": lambda: m[0],
        "x[1, 2]": lambda: m[1, 2],
        "x[..., 1]": lambda: cube[..., 1],
        "x[:, 1:3]": lambda: m[:, 1:3],
        "x[::2]": lambda: m[::2],
        "x[index]": lambda: m[index],
        "x[index, index]": lambda: m[index, index],
        "x[:, index]": lambda: m[:, index],
        "x[[1, 2]]": lambda: m[[1, 2]],
        "x[mask]": lambda: a[mask],
        "x[0] = number": lambda: m.__setitem__(0, 1.0),
        "x[1, 2] = number": lambda: m.__setitem__((1, 2), 1.0),
        "x[:, 1] = row": lambda: m.__setitem__((slice(None), 1), a),
        "x[index] = number": lambda: m.__setitem__(index, 1.0),
        "x[mask] = number": lambda: b.__setitem__(mask, 1.0),
        "repr 8": lambda: repr(a),
        "repr 8x8": lambda: repr(m),
        "str 1000": lambda: str(vec),
        "repr int": lambda: repr(k),
        "tensor(1.0)": lambda: torch.tensor(1.0),
        "tensor nested list": lambda: torch.tensor(listed),
        "as_tensor list": lambda: torch.as_tensor([1, 2, 3]),
        "from_numpy": lambda array=a.numpy(): torch.from_numpy(array),
        "numpy()": lambda: a.numpy(),
        "zeros 2x3": lambda: torch.zeros(2, 3),
        "ones_like": lambda: torch.ones_like(m),
        "zeros_like": lambda: torch.zeros_like(m),
        "full_like": lambda: torch.full_like(m, 2.0),
        "new_zeros": lambda: m.new_zeros(3),
        "arange 8": lambda: torch.arange(8),
        "linspace 8": lambda: torch.linspace(0, 1, 8),
        "eye 8": lambda: torch.eye(8),
        "to same": lambda: m.to(torch.float32),
        "to cpu": lambda: m.to("cpu"),
        "to bfloat16": lambda: m.to(torch.bfloat16),
        "half float()": lambda: half.float(),
        "cpu()": lambda: m.cpu(),
        "reshape": lambda: m.reshape(64),
        "flatten": lambda: cube.flatten(1),
        "view -1": lambda: cube.view(-1),
        "squeeze": lambda: one.squeeze(),
        "unsqueeze": lambda: m.unsqueeze(1),
        "T": lambda: m.T,
        "mT": lambda: cube.mT,
        "permute": lambda: cube.permute(2, 0, 1),
        "expand": lambda: one.expand(8, 8),
        "split": lambda: m.split(2),
        "chunk": lambda: m.chunk(2, 1),
        "unbind": lambda: m.unbind(),
        "add": lambda: a + b,
        "add number": lambda: a + 1,
        "number - x": lambda: 1 - a,
        "x / number": lambda: a / 2,
        "x // 2": lambda: k // 2,
        "x % 2": lambda: k % 2,
        "x ** 2": lambda: a**2,
        "-x": lambda: -a,
        "x > 0": lambda: a > 0,
        "x == x": lambda: a == b,
        "x & x": lambda: mask & mask,
        "~x": lambda: ~mask,
        "int + float": lambda: k + a,
        "bfloat16 add": lambda: half + half,
        "bfloat16 mul number": lambda: half * 2.0,
        "bfloat16 sum": lambda: half.sum(),
        "x += 1": lambda: a.add_(0),
        "mul_": lambda: a.mul_(1.0),
        "copy_": lambda: a.copy_(b),
        "fill_": lambda: b.fill_(1.0),
        "zero_": lambda: b.zero_(),
        "clamp": lambda: a.clamp(0, 1),
        "clamp min": lambda: a.clamp(min=0),
        "where": lambda: torch.where(mask, a, b),
        "masked_fill": lambda: a.masked_fill(mask, 0.0),
        "maximum": lambda: torch.maximum(a, b),
        "sigmoid": lambda: a.sigmoid(),
        "tanh": lambda: a.tanh(),
        "relu": lambda: f.relu(a),
        "gelu": lambda: f.gelu(a),
        "silu": lambda: f.silu(a),
        "dropout": lambda: f.dropout(a),
        "softmax": lambda: f.softmax(m, dim=-1),
        "layer_norm": lambda: f.layer_norm(m, (8,)),
        "rms_norm": lambda: f.rms_norm(m, (8,)),
        "cross_entropy": lambda: f.cross_entropy(m, k),
        "mse_loss": lambda: f.mse_loss(a, b),
        "linear": lambda: f.linear(m, m, a),
        "matmul": lambda: m @ m,
        "bmm": lambda: torch.bmm(cube, cube),
        "einsum": lambda: torch.einsum("ij,jk->ik", m, m),
        "sdpa": lambda: f.scaled_dot_product_attention(cube, cube, cube),
        "conv2d 1x4x8x8": lambda: f.conv2d(cube[None], cube[None, :, :3, :3]),
        "max_pool2d 1x4x8x8": lambda: f.max_pool2d(cube[None], 2),
        "avg_pool2d 1x4x8x8": lambda: f.avg_pool2d(cube[None], 2),
        "interpolate 1x4x8x8": lambda: f.interpolate(cube[None], scale_factor=2),
        "pad": lambda: f.pad(m, (1, 1)),
        "one_hot": lambda: f.one_hot(k, 8),
        "embedding": lambda: f.embedding(index, m),
        "normalize": lambda: f.normalize(m),
        "sum": lambda: m.sum(),
        "sum(1)": lambda: m.sum(1),
        "mean(-1)": lambda: m.mean(-1),
        "max(1)": lambda: m.max(1),
        "argmax": lambda: m.argmax(-1),
        "norm": lambda: a.norm(),
        "std": lambda: a.std(),
        "cumsum": lambda: m.cumsum(1),
        "sort": lambda: a.sort(),
        "argsort": lambda: a.argsort(),
        "topk": lambda: a.topk(2),
        "unique": lambda: torch.unique(k),
        "nonzero": lambda: mask.nonzero(),
        "any": lambda: mask.any(),
        "all": lambda: mask.all(),
        "isnan any": lambda: a.isnan().any(),
        "allclose": lambda: torch.allclose(a, a),
        "equal": lambda: torch.equal(a, a),
        "cat": lambda: torch.cat((m, m)),
        "stack": lambda: torch.stack((a, b)),
        "gather": lambda: m.gather(1, index[None]),
        "scatter_": lambda: m.scatter_(1, index[None], 1.0),
        "scatter_add_": lambda: a.scatter_add_(0, index, b[:3]),
        "index_select": lambda: m.index_select(0, index),
        "index_add_": lambda: a.index_add_(0, index, b[:3]),
        "repeat": lambda: a.repeat(2),
        "repeat_interleave": lambda: a.repeat_interleave(2),
        "flip": lambda: a.flip(0),
        "roll": lambda: a.roll(1),
        "tril": lambda: m.tril(),
        "diag": lambda: m.diag(),
        "triu ones": lambda: torch.triu(torch.ones(8, 8), 1),
        "meshgrid": lambda: torch.meshgrid(a, b, indexing="ij"),
        "outer": lambda: torch.outer(a, b),
        "clone": lambda: a.clone(),
        "detach": lambda: a.detach(),
        "contiguous": lambda: a.contiguous(),
        "randn 8": lambda: torch.randn(8),
        "randint 8": lambda: torch.randint(0, 10, (8,)),
        "randperm 8": lambda: torch.randperm(8),
        "multinomial 8": lambda: torch.multinomial(a.abs() + 1, 2),
        "bernoulli 8": lambda: torch.bernoulli(mask.float()),
        "manual_seed": lambda: torch.manual_seed(0),
        "no_grad": lambda: _with(torch.no_grad()),
        "is_tensor": lambda: torch.is_tensor(a),
        "isinstance": lambda: isinstance(a, torch.Tensor),
        "finfo": lambda: torch.finfo(torch.float32).eps,
        "broadcast_tensors": lambda: torch.broadcast_tensors(a, m),
        "deepcopy": lambda copy=__import__("copy").deepcopy: copy(a),
        "linalg.norm": lambda: torch.linalg.norm(a),
        "fft 8": lambda: torch.fft.fft(a),
        "complex abs": lambda c=torch.complex(a, b): c.abs(),
    }


def _with(manager: Any) -> None:
    with manager:
        pass


def module_cases(torch: Any) -> Cases:
    """Modules, optimizers, saving, loading, data."""
    nn = torch.nn
    x, im = torch.randn(4, 16), torch.randn(2, 3, 16, 16)
    mlp = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16), nn.LayerNorm(16))
    cnn = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(392, 10)
    )
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    tokens = torch.randn(2, 8, 32)
    big = [nn.Parameter(torch.randn(64, 64)) for _ in range(50)]
    large = [nn.Parameter(torch.randn(512, 512)) for _ in range(8)]
    for p in [*big, *large]:
        p.grad = torch.randn_like(p)
    optim = torch.optim

    def step(kind: Any, params: list[Any], **options: Any) -> Any:
        return kind(list(params), **options).step

    found: Cases = {
        "Linear call": lambda layer=mlp[0]: layer(x),
        "LayerNorm call": lambda layer=mlp[3]: layer(torch.ones(4, 16)),
        "Identity call": lambda layer=nn.Identity(): layer(x),
        "MLP forward": lambda: mlp(x),
        "MLP no_grad forward": lambda: _without_gradient(torch, mlp, x),
        "CNN forward": lambda: cnn(im),
        "transformer layer forward": lambda: layer(tokens),
        "parameters()": lambda: list(layer.parameters()),
        "named_modules()": lambda: list(layer.named_modules()),
        "state_dict": lambda: layer.state_dict(),
        "load_state_dict": lambda state=layer.state_dict(): layer.load_state_dict(state),
        "module.to same": lambda: layer.to(torch.float32),
        "train()": lambda: layer.train(),
        "zero_grad 50": lambda: [p.grad for p in big],
        "construct Linear": lambda: nn.Linear(16, 16),
        "construct transformer layer": lambda: nn.TransformerEncoderLayer(32, 4, 64),
        "clip_grad_norm_ 50 of 64x64": lambda: nn.utils.clip_grad_norm_(big, 1e9),
        "clip_grad_norm_ 8 of 512x512": lambda: nn.utils.clip_grad_norm_(large, 1e9),
        "foreach add 50 of 64x64": lambda: torch._foreach_add(big, 1.0),
        "foreach norm 50 of 64x64": lambda: torch._foreach_norm(big),
    }
    for label, params in (("50 of 64x64", big), ("8 of 512x512", large)):
        found |= {
            f"SGD {label}": step(optim.SGD, params, lr=1e-6),
            f"SGD momentum {label}": step(optim.SGD, params, lr=1e-6, momentum=0.9),
            f"Adam {label}": step(optim.Adam, params, lr=1e-6),
            f"AdamW {label}": step(optim.AdamW, params, lr=1e-6),
            f"AdamW foreach {label}": step(optim.AdamW, params, lr=1e-6, foreach=True),
            f"RMSprop {label}": step(optim.RMSprop, params, lr=1e-6),
            f"Adagrad {label}": step(optim.Adagrad, params, lr=1e-6),
        }
    buffer = io.BytesIO()
    torch.save(layer.state_dict(), buffer)
    saved = buffer.getvalue()
    data = torch.utils.data
    loader = data.DataLoader(data.TensorDataset(torch.randn(256, 16), torch.arange(256)), batch_size=32, shuffle=True)
    return found | {
        "save state_dict": lambda: torch.save(layer.state_dict(), io.BytesIO()),
        "load state_dict": lambda: torch.load(io.BytesIO(saved)),
        "DataLoader 8 batches of 32": lambda: list(loader),
    }


def _without_gradient(torch: Any, module: Any, x: Any) -> Any:
    with torch.no_grad():
        return module(x)


def training_cases(torch: Any) -> Cases:
    """Autograd by itself, and whole training steps."""
    nn, f = torch.nn, torch.nn.functional
    leaf = torch.randn(8, requires_grad=True)
    hundred = torch.randn(100, 100, requires_grad=True)

    def chain() -> Any:
        y = leaf
        for _ in range(100):
            y = y + leaf
        return torch.autograd.grad(y.sum(), leaf)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)
            self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
            self.up, self.down = nn.Linear(32, 128), nn.Linear(128, 32)

        def forward(self, x: Any) -> Any:
            b, n, d = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, 4, 8).permute(2, 0, 3, 1, 4)
            y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
            return x + self.down(f.gelu(self.up(self.norm2(x))))

    class Language(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(100, 32)
            self.blocks = nn.ModuleList(Block() for _ in range(2))
            self.head = nn.Linear(32, 100)

        def forward(self, tokens: Any) -> Any:
            x = self.table(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    language, tokens = Language(), torch.randint(0, 100, (8, 33))
    cnn = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    images, labels = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    mlp = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    flat = torch.randn(32, 64)
    lstm, steps = nn.LSTM(16, 32, batch_first=True), torch.randn(4, 20, 16)
    adam = torch.optim.AdamW(language.parameters(), lr=1e-4)
    sgd = torch.optim.SGD(cnn.parameters(), lr=1e-4, momentum=0.9)
    plain = torch.optim.SGD(mlp.parameters(), lr=1e-4)

    def train(model: Any, loss: Any, optimizer: Any) -> Any:
        def step() -> None:
            optimizer.zero_grad()
            loss(model).backward()
            optimizer.step()

        return step

    def second() -> Any:
        (g,) = torch.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
        return torch.autograd.grad(g.sum(), leaf)

    return {
        "chain of 100 adds": chain,
        "custom Function": lambda: torch.autograd.grad(Twice.apply(leaf).sum(), leaf),
        "custom Function forward": lambda: Twice.apply(leaf),
        "second gradient": second,
        "backward of a sum": lambda: leaf.sum().backward(),
        "backward accumulates 100x100": lambda: (hundred * 2).sum().backward(),
        "checkpoint": lambda: torch.utils.checkpoint.checkpoint(torch.sin, leaf, use_reentrant=False).sum().backward(),
        "vmap of sin": lambda call=torch.func.vmap(torch.sin), x=torch.randn(4, 4): call(x),
        "train MLP": train(mlp, lambda model: f.cross_entropy(model(flat), labels.repeat(2)), plain),
        "train CNN": train(cnn, lambda model: f.cross_entropy(model(images), labels), sgd),
        "train transformer": train(
            language, lambda model: f.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()), adam
        ),
        "lstm fwd+bwd 4x20x16": lambda: lstm(steps)[0].sum().backward(),
    }
