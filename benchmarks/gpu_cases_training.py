"""Whole training steps, for benchmarks/gpu_eager.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu_cases_backward import Case


def trained(
    torch: Any,
    model: Any,
    inputs: Any,
    loss: Callable[[Any], Any],
    kind: str = "AdamW",
    amp: bool = False,
    clip: bool = False,
) -> Case:
    """A step of training: ``amp``: under autocast to bfloat16; ``clip``: with the gradients' norm clipped."""
    model = model.cuda()
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=1e-4)

    def run() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            out = loss(model(inputs))
        out.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return run


def mlp(torch: Any) -> Any:
    """Three linear layers."""
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 10)
    )


def language_model(torch: Any) -> Any:
    """Two transformer blocks between embeddings and a projection to 1000 words."""
    nn, functional = torch.nn, torch.nn.functional

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

    return Language()


def convolutions(torch: Any) -> Any:
    """Two convolutions with batch norm, and a linear layer."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def steps(torch: Any) -> dict[str, Case]:
    """Training steps: gradients to None, forward, loss, backward, the optimizer."""
    nn, functional = torch.nn, torch.nn.functional
    torch.manual_seed(0)
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
    model, static = mlp(torch).cuda().eval(), torch.randn(64, 256, device="cuda")
    found = {
        "step MLP SGD": trained(torch, mlp(torch), rows, ranked, "SGD"),
        "step MLP AdamW": trained(torch, mlp(torch), rows, ranked),
        "step MLP AdamW autocast, clipped": trained(torch, mlp(torch), rows, ranked, amp=True, clip=True),
        "step language model": trained(torch, language_model(torch), tokens, next_words),
        "step language model autocast": trained(torch, language_model(torch), tokens, next_words, amp=True),
        "step convolutions": trained(
            torch, convolutions(torch), image, lambda out: functional.cross_entropy(out, marks)
        ),
        "step TransformerEncoderLayer": trained(
            torch, encoder, words, lambda out: functional.cross_entropy(out, marks)
        ),
        "forward MLP": lambda: model(static),
    }
    try:
        found["replay of a captured step"] = captured(torch, mlp(torch), rows, ranked)
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

    def replay(
        kept: Any = (model, optimizer),
    ) -> None:  # the graph knows only addresses: what it writes to lives as long
        graph.replay()

    return replay
