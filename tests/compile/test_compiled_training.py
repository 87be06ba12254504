"""Training steps compiled and as they are: the same losses and parameters, bit for bit."""

from __future__ import annotations

import copy

import pytest

import shim_torch as torch
from shim_torch._impl.compile.calls import counts
from shim_torch.nn import functional as F


class Attention(torch.nn.Module):
    """A block as transformers have it: rotary positions, a causal mask, a gated layer."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width, bias=False)
        self.out = torch.nn.Linear(width, width, bias=False)
        self.gate, self.up = (torch.nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = torch.nn.Linear(2 * width, width, bias=False)
        self.first, self.second = (torch.nn.RMSNorm(width) for _ in range(2))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.first(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        angle = torch.arange(t).unsqueeze(1) / torch.arange(1, c // self.heads // 2 + 1)
        cos, sin = (torch.cat([f(angle)] * 2, -1) for f in (torch.cos, torch.sin))

        def rotated(z):
            left, right = z.chunk(2, -1)
            return z * cos + torch.cat([-right, left], -1) * sin

        mask = torch.full((t, t), float("-inf")).triu(1)
        weights = F.softmax(rotated(q) @ rotated(k).transpose(-2, -1) / (c // self.heads) ** 0.5 + mask, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, c))
        h = self.second(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Language(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = torch.nn.Embedding(11, 16)
        self.blocks = torch.nn.ModuleList([Attention() for _ in range(2)])
        self.head = torch.nn.Linear(16, 11)

    def forward(self, ids):
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Image(torch.nn.Module):
    """A residual block as torchvision has it."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.bn1, self.bn2 = torch.nn.BatchNorm2d(8), torch.nn.BatchNorm2d(8)
        self.conv2 = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.drop = torch.nn.Dropout(0.3)
        self.head = torch.nn.Linear(8, 11)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.max_pool2d(F.relu(self.bn2(self.conv2(y)) + y), 2)
        return self.head(self.drop(F.adaptive_avg_pool2d(y, 1).flatten(1)))


def language_batch():
    return torch.randint(0, 11, (2, 5)), torch.randint(0, 11, (2, 5))


def image_batch():
    return torch.randn(4, 3, 6, 6), torch.randint(0, 11, (4,))


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
    "adamw one by one": lambda p: torch.optim.AdamW(p, lr=0.01, foreach=False),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.01),
}


def step(model, optimizer, x, target, scheduler=None):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x).flatten(0, -2), target.flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if scheduler is not None:
        scheduler.step()
    return loss.detach()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(("model", "batch"), [(Language, language_batch), (Image, image_batch)])
def test_steps(model, batch, optimizer):
    torch.manual_seed(3)
    eager = model()
    other = copy.deepcopy(eager)
    first, second = OPTIMIZERS[optimizer](eager.parameters()), OPTIMIZERS[optimizer](other.parameters())
    schedules = [torch.optim.lr_scheduler.ExponentialLR(o, 0.9) for o in (first, second)]
    compiled = torch.compile(lambda x, target: step(other, second, x, target, schedules[1]))
    for i in range(5):
        x, target = batch()
        before = counts["deferred"]
        torch.manual_seed(i)
        wanted = step(eager, first, x, target, schedules[0])
        torch.manual_seed(i)
        assert torch.equal(compiled(x, target), wanted)
        assert (counts["deferred"] > before) == (i > 0)
        for (name, p), q in zip(eager.state_dict().items(), other.state_dict().values(), strict=True):
            assert torch.equal(p, q), name
        for p, q in zip(eager.parameters(), other.parameters(), strict=True):
            assert torch.equal(p.grad, q.grad)


def test_backward_outside():
    torch.manual_seed(1)
    eager = Language()
    other = copy.deepcopy(eager)
    compiled = torch.compile(other)
    for _ in range(3):
        x, target = language_batch()
        for model in (eager, compiled):
            model.zero_grad()
            F.cross_entropy(model(x).flatten(0, 1), target.flatten()).backward()
        for p, q in zip(eager.parameters(), other.parameters(), strict=True):
            assert torch.equal(p.grad, q.grad)


def test_second_gradients_and_hooks():
    def f(x):
        seen = []
        y = (x.sin() * x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.register_hook(lambda h: seen.append(h.shape))
        (h,) = torch.autograd.grad((g * g).sum(), x)
        return g.detach(), h, len(seen)

    compiled = torch.compile(f)
    for _ in range(3):
        x = torch.randn(4, requires_grad=True)
        got, wanted = compiled(x), f(x)
        assert torch.equal(got[0], wanted[0]) and torch.equal(got[1], wanted[1]) and got[2] == wanted[2] == 1


def test_autocast_and_checkpoints():
    from shim_torch.utils.checkpoint import checkpoint

    layer = torch.nn.Linear(8, 8)

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = checkpoint(lambda z: F.gelu(layer(z)), x, use_reentrant=False)
        y.float().sum().backward()
        return y

    compiled = torch.compile(f)
    for _ in range(3):
        x = torch.randn(2, 8, requires_grad=True)
        layer.zero_grad()
        wanted = f(x)
        gradients = [x.grad.clone(), layer.weight.grad.clone()]
        x.grad = None
        layer.zero_grad()
        assert torch.equal(compiled(x), wanted)
        assert torch.equal(x.grad, gradients[0]) and torch.equal(layer.weight.grad, gradients[1])
