"""Calls of the wide CPU benchmark: modules, optimizers, and whole training steps."""

from __future__ import annotations

import io
from typing import Any

from side_by_side import Cases


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
    found |= _optimizers(torch, "50 of 64x64", big) | _optimizers(torch, "8 of 512x512", large)
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


def _optimizers(torch: Any, label: str, params: list[Any]) -> Cases:
    """A step of each optimizer."""
    optim = torch.optim

    def step(kind: Any, **options: Any) -> Any:
        return kind(list(params), lr=1e-6, **options).step

    return {
        f"SGD {label}": step(optim.SGD),
        f"SGD momentum {label}": step(optim.SGD, momentum=0.9),
        f"Adam {label}": step(optim.Adam),
        f"AdamW {label}": step(optim.AdamW),
        f"AdamW foreach {label}": step(optim.AdamW, foreach=True),
        f"RMSprop {label}": step(optim.RMSprop),
        f"Adagrad {label}": step(optim.Adagrad),
    }


def _without_gradient(torch: Any, module: Any, x: Any) -> Any:
    with torch.no_grad():
        return module(x)


def _language_model(torch: Any) -> Any:
    """Two transformer blocks between an embedding and a projection to 100 words."""
    nn, f = torch.nn, torch.nn.functional

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

    return Language()


def _convolutions(torch: Any) -> Any:
    """Two convolutions with batch norm, and a linear layer."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip


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

    language, tokens = _language_model(torch), torch.randint(0, 100, (8, 33))
    cnn = _convolutions(torch)
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
