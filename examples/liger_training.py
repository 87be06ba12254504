"""Stock Liger-Kernel layers in a small language model that learns, with no PyTorch installed.

Liger's wheel is unmodified: its ``import torch`` gets ours. Needs ``pip install --no-deps liger-kernel``.
"""

from compat import enable_torch_proxy

enable_torch_proxy(scope={"__main__", "liger_kernel"})

import time
from types import SimpleNamespace

import torch
from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss, LigerRMSNorm, LigerSwiGLUMLP
from liger_kernel.transformers.functional import liger_rope

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
VOCABULARY, WIDTH, HEADS, LENGTH, BATCH, STEPS = 24, 32, 2, 8, 2, 16


class Block(torch.nn.Module):
    """Causal attention with Liger's rotary embedding, then Liger's SwiGLU; Liger's RMSNorm before each."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = LigerRMSNorm(WIDTH), LigerRMSNorm(WIDTH)
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = LigerSwiGLUMLP(SimpleNamespace(hidden_size=WIDTH, intermediate_size=2 * WIDTH, hidden_act="silu"))

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        """Attention and feed-forward block of ``x`` (batch, length, WIDTH), with rotary embedding."""
        split = self.qkv(self.norm1(x)).view(x.shape[0], x.shape[1], 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        q, k, v = split[0], split[1], split[2]
        q, k = liger_rope(q, k, cos, sin)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        future = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device), diagonal=1)
        mixed = torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.mlp(self.norm2(x))


class Model(torch.nn.Module):
    """Embedding, one block, and a head that Liger fuses with the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.block, self.norm = torch.nn.Embedding(VOCABULARY, WIDTH), Block(), LigerRMSNorm(WIDTH)
        self.head = torch.nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.loss = LigerFusedLinearCrossEntropyLoss()
        half = WIDTH // HEADS // 2
        angle = torch.outer(torch.arange(LENGTH).float(), 1 / 100 ** (torch.arange(half) / half))
        angle = torch.cat([angle, angle], dim=-1)[None]
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The loss of predicting each token from those before; ``tokens`` is (batch, length)."""
        x = self.norm(self.block(self.embedding(tokens[:, :-1]), self.cos, self.sin))
        return self.loss(self.head.weight, x.reshape(-1, WIDTH), tokens[:, 1:].reshape(-1))


def main() -> None:
    """Trains the model on a rule of counting, and prints the loss."""
    torch.manual_seed(0)
    model = Model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    start = torch.randint(0, VOCABULARY, (BATCH, 1), device=DEVICE)
    step = torch.randint(1, 4, (BATCH, 1), device=DEVICE)
    tokens = (start + step * torch.arange(LENGTH + 1, device=DEVICE)) % VOCABULARY  # each row counts in its own step
    first = last = 0.0
    began = time.perf_counter()
    for i in range(STEPS):
        optimizer.zero_grad()
        loss = model(tokens)
        loss.backward()
        optimizer.step()
        last = loss.item()
        first = first or last
        if i % 3 == 0 or i == STEPS - 1:
            print(f"step {i:3d}  loss {last:.4f}")
    each = (time.perf_counter() - began) / STEPS * 1e3
    print(f"loss {first:.4f} -> {last:.4f}, {each:.0f} ms a step ({torch.__name__} {torch.__version__}, {DEVICE})")
    assert last < 0.5 * first


if __name__ == "__main__":
    main()
