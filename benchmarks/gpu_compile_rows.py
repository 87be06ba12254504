"""What gpu_compile.py times: small programs of either library, and how often each is called between two waits."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any


def block(torch: Any, width: int) -> Any:
    """A block of ResNet: two convolutions and what goes by them."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inside: int, outside: int, stride: int) -> None:
            super().__init__()
            self.a = nn.Sequential(nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside))
            self.b = nn.Sequential(nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside))
            by = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))
            self.by = by if stride > 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            return (self.b(self.a(x).relu()) + self.by(x)).relu()

    return Block(width // 2 if width > 64 else 64, width, 2 if width > 64 else 1), Block(width, width, 1)


def resnet18(torch: Any, batch: int) -> Any:
    """Inference in float32; its layers are torchvision's."""
    nn = torch.nn
    begin = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    blocks = [b for width in (64, 128, 256, 512) for b in block(torch, width)]
    model = nn.Sequential(*begin, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).cuda().eval()
    x = torch.randn(batch, 3, 224, 224, device="cuda")
    return torch.no_grad()(lambda: model(x)), None


def liger(torch: Any) -> Any:
    """Liger's functions, over this torch."""
    if torch.__name__ == "shim_torch":
        import shim_torch_proxy

        shim_torch_proxy.enable_torch_proxy(scope={"liger_kernel"})
    from liger_kernel.transformers import functional, rms_norm, rope

    return argparse.Namespace(
        norm=rms_norm.LigerRMSNorm,
        turn=rope.liger_rotary_pos_emb,
        gated=functional.liger_swiglu,
        loss=functional.liger_cross_entropy,
    )


def llama(torch: Any, layers: int, width: int, words: int = 32000, by: Any = None) -> Any:
    """A decoder as Llama's: norms by root mean squares, rotary places, gated products; ``by``: a library's functions for these."""
    nn, F = torch.nn, torch.nn.functional
    heads = width // 64

    class Norm(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x: Any) -> Any:
            y = x.float()
            return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def turned(x: Any, cos: Any, sin: Any) -> Any:
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat((-b, a), -1) * sin

    class Layer(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = (by.norm(width) if by else Norm() for _ in range(2))
            self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
            self.gate, self.up = (nn.Linear(width, 4 * width, bias=False) for _ in range(2))
            self.down = nn.Linear(4 * width, width, bias=False)

        def forward(self, x: Any, cos: Any, sin: Any, cache: Any = None, at: Any = None, mask: Any = None) -> Any:
            h = self.before(x)
            q, k, v = (p(h).view(*h.shape[:2], heads, 64).transpose(1, 2) for p in (self.q, self.k, self.v))
            q, k = by.turn(q, k, cos[None], sin[None]) if by else (turned(q, cos, sin), turned(k, cos, sin))
            if cache is not None:
                cache[0].index_copy_(2, at, k)
                cache[1].index_copy_(2, at, v)
                k, v = cache
            h = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
            x = x + self.o(h.transpose(1, 2).reshape(*x.shape))
            h = self.between(x)
            gate, up = self.gate(h), self.up(h)
            return x + self.down(by.gated(gate, up) if by else F.silu(gate) * up)

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.norm, self.head = by.norm(width) if by else Norm(), nn.Linear(width, words, bias=False)
            angles = torch.outer(torch.arange(2048).float(), 1e4 ** (-torch.arange(0, 64, 2) / 64))
            angles = torch.cat((angles, angles), -1)
            self.register_buffer("cos", angles.cos())
            self.register_buffer("sin", angles.sin())

        def forward(self, ids: Any, caches: Any = None, at: Any = None, mask: Any = None) -> Any:
            x = self.words(ids)
            rows = slice(ids.shape[1]) if at is None else at
            cos, sin = self.cos[rows].to(x.dtype), self.sin[rows].to(x.dtype)
            for i, layer in enumerate(self.layers):
                x = layer(x, cos, sin, caches[i] if caches else None, at, mask)
            return self.head(self.norm(x))

    return Model().cuda().bfloat16()


def training(torch: Any, layers: int, width: int, batch: int, tokens: int, by: Any = None) -> Any:
    """Forward and backward within the function, and AdamW's step."""
    F = torch.nn.functional
    model = llama(torch, layers, width, by=by)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    ids = torch.randint(0, 32000, (batch, tokens), device="cuda")

    def step() -> Any:
        optimizer.zero_grad()
        logits = model(ids)
        scores, words = logits[:, :-1].reshape(-1, 32000), ids[:, 1:].reshape(-1)
        loss = by.loss(scores, words) if by else F.cross_entropy(scores.float(), words)
        loss.backward()
        return loss

    return step, optimizer.step


def generation(torch: Any) -> Any:
    """A token: the likeliest word after the last, whose keys and values go to a cache of a fixed size."""
    model = llama(torch, 8, 1024).eval()
    zeros = lambda: torch.zeros(1, 16, 512, 64, device="cuda", dtype=torch.bfloat16)
    caches = [(zeros(), zeros()) for _ in range(8)]
    places = torch.arange(512, device="cuda")
    ids, at = torch.zeros(1, 1, dtype=torch.long, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")

    def token() -> Any:
        logits = model(ids, caches, at, (places <= at)[None, None, None])
        ids.copy_(logits[:, -1:].argmax(-1))
        at.add_(1).remainder_(512)
        return ids

    return torch.no_grad()(token), None


def pointwise(torch: Any) -> Any:
    x, y = (torch.randn(1024, device="cuda") for _ in range(2))
    return lambda: torch.relu(x + y), (x, y)


def replay(torch: Any) -> Any:
    """A CUDA graph by hand, of one or two kernels: what a replay takes at least."""
    x, y = (torch.randn(1024, device="cuda") for _ in range(2))
    torch.relu(x + y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        given = torch.relu(x + y)

    def call() -> Any:
        graph.replay()
        return given

    return call, None


ROWS: dict[str, tuple[Callable[[Any], Any], int]] = {  # what is called, and how often between waits
    "replay": (replay, 500),
    "relu": (pointwise, 500),
    "resnet18 x1": (lambda t: resnet18(t, 1), 50),
    "resnet18 x10": (lambda t: resnet18(t, 10), 50),
    "llama 4x512": (lambda t: training(t, 4, 512, 1, 128), 20),
    "generation": (generation, 30),
    "llama 8x1024": (lambda t: training(t, 8, 1024, 4, 1024), 5),
    "llama 8x1024 liger": (lambda t: training(t, 8, 1024, 4, 1024, liger(t)), 5),
}
