"""Training steps that a seed tells, compiled and as they are, while gradients, parameters, hooks and the optimizer are changed in between.

They are of float64: what rounds otherwise grows where a gradient is none but for its rounding."""

from __future__ import annotations

import copy
import random
import warnings

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn
from shim_torch.utils.checkpoint import checkpoint


class Gated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.both, self.out = nn.Linear(d, 2 * d, bias=False), nn.Linear(d, d)

    def forward(self, x):
        a, b = self.both(x).chunk(2, -1)
        return x + self.out(F.silu(a) * b)


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.all = nn.Linear(d, 3 * d)

    def forward(self, x):
        return x + F.scaled_dot_product_attention(*self.all(x)[None, None].chunk(3, -1))[0, 0]


class Normed(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.seen += 1
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


LAYERS = [
    lambda d: nn.Linear(d, d), lambda d: nn.LayerNorm(d), lambda d: nn.BatchNorm1d(d), Gated, Attention, Normed,
    lambda d: nn.ReLU(inplace=True), lambda d: nn.Dropout(0.3),
]  # fmt: skip
OPTIMIZERS = [
    lambda p: torch.optim.SGD(p, 0.1, 0.9, nesterov=True), lambda p: torch.optim.AdamW(p, 1e-2, amsgrad=True),
    lambda p: torch.optim.RMSprop(p), lambda p: torch.optim.NAdam(p),
]  # fmt: skip
OFTEN = ("step", "zero", "detached")
SELDOM = ("no_grad", "checkpoint", "hooks for saved", "later")
WORDS = (*OFTEN, *SELDOM, "mse", "item", "hook", "grad", "some", "clipped", "twice")


class Training:
    """A model with its optimizer, and steps that do what their words say."""

    def __init__(self, seed):
        self.chance = chance = random.Random(seed)
        torch.manual_seed(seed)
        self.d = d = chance.choice([3, 8, 64])
        layers = [chance.choice(LAYERS)(d) for _ in range(chance.randint(1, 4))]
        self.model = nn.Sequential(*layers, nn.Linear(d, d)).double()
        self.make = chance.choice(OPTIMIZERS)
        self.optimizer = self.make(self.model.parameters())
        self.hooks, self.losses = [], []
        self.scripts = [
            {w for w in WORDS if chance.random() < (0.7 if w in OFTEN else 0.08 if w in SELDOM else 0.25)}
            for _ in range(2)
        ]

    def step(self, x, script):
        model, out = self.model, []
        if "no_grad" in script:
            with torch.no_grad():
                return [model(x)]
        y = checkpoint(model, x, use_reentrant=False) if "checkpoint" in script else model(x)
        if "hook" in script and y.requires_grad:
            y.register_hook(lambda g: g * 2)
        if "hooks for saved" in script:
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
                y = y.exp().clamp(max=3)
        loss = y.square().mean() if "mse" in script else F.cross_entropy(y, torch.arange(len(x)) % self.d)
        if "item" in script:
            out.append(loss.item())
        wanted = [p for p in model.parameters() if p.requires_grad]
        if "later" in script:
            self.losses.append(loss)
            loss = self.losses.pop(0) if len(self.losses) > 2 else None
        if loss is not None and loss.requires_grad:
            self.backward(loss, wanted, script)
        if "clipped" in script:
            out.append(nn.utils.clip_grad_norm_([p for p in wanted if p.grad is not None], 0.5))
        if "step" in script:
            self.optimizer.step()
        if "zero" in script:
            self.optimizer.zero_grad()
        return [*out, y.detach() if "detached" in script else y]

    def backward(self, loss, wanted, script):
        if "grad" in script and wanted:
            for p, g in zip(wanted, torch.autograd.grad(loss, wanted, allow_unused=True), strict=True):
                p.grad = g if p.grad is None or g is None else p.grad + g
        elif "some" in script and wanted:
            loss.backward(inputs=wanted[:2])
        else:
            loss.backward(retain_graph="twice" in script)
            if "twice" in script:
                (loss * 2).backward()

    def change(self):
        """What happens to the model between two steps."""
        chance, model = self.chance, self.model
        parameters = list(model.parameters())
        p = chance.choice(parameters)
        given = [q for q in parameters if q.grad is not None]

        def flat_gradients():
            flat = torch.cat([q.grad.reshape(-1) for q in given] or [torch.zeros(0)])
            for q, part in zip(given, flat.split([q.numel() for q in given]), strict=True):
                q.grad = part.view_as(q)

        chance.choice([
            lambda: p.requires_grad_(not p.requires_grad),
            lambda: setattr(p, "grad", torch.randn_like(p)),
            lambda: setattr(p, "data", p.data.t().contiguous().t() if p.dim() == 2 else p.data.clone()),
            lambda: p.data.mul_(0.9),
            lambda: model.train(not model.training),
            lambda: self.hooks.append(p.register_hook(lambda g: g * 0.5)) if p.requires_grad else None,
            lambda: self.hooks.append(p.register_post_accumulate_grad_hook(lambda q: q.grad.mul_(0.5))) if p.requires_grad else None,
            lambda: self.hooks.append(model[0].register_forward_hook(lambda m, a, out: out * 1.5)),
            lambda: self.hooks.pop().remove() if self.hooks else None,
            lambda: model.load_state_dict({k: v * 1 for k, v in model.state_dict().items()}),
            lambda: self.optimizer.param_groups[0].update(lr=0.05),
            lambda: self.optimizer.load_state_dict(copy.deepcopy(self.optimizer.state_dict())),
            lambda: setattr(self, "optimizer", self.make(model.parameters())),
            flat_gradients,
            lambda: [q.grad.zero_() for q in given],
            lambda: [q.grad.numpy() for q in given],
        ])()  # fmt: skip

    def run(self, step):
        """What each of some steps gave, and what it left."""
        chance, script, kept = self.chance, self.scripts[0], []
        for i in range(14):
            if chance.random() < 0.25:
                script = chance.choice(self.scripts)
            if i > 3 and chance.random() < 0.3:
                self.change()
            n = chance.choice([3, 3, 3, 5])
            x = torch.randn(n, self.d).double() if chance.random() < 0.9 else torch.randn(self.d, n).double().t()
            try:
                out = step(x, script)
            except RuntimeError as e:
                out = [str(e)]
            kept.append(out)
            parameters = list(self.model.parameters())
            left = [*parameters, *(p.grad for p in parameters), *self.model.buffers(), torch.rand(1)]
            yield [t.detach().clone() if isinstance(t, torch.Tensor) else t for t in [*out, *left]]
        yield [t for out in kept for t in out]


@pytest.mark.parametrize("settings", ({}, {"backend": "eager"}), ids=("programs", "operators"))
@pytest.mark.parametrize("block", range(6))
def test_random_training(block, settings):
    warnings.simplefilter("ignore")
    for seed in range(block * 8, block * 8 + 8):
        plain = Training(seed)
        wanted = list(plain.run(plain.step))
        other = Training(seed)  # seeds the draws again
        got = list(other.run(torch.compile(other.step, **settings)))
        for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
            assert len(a) == len(b), (seed, i)
            for x, y in zip(a, b, strict=True):
                if not isinstance(x, torch.Tensor):
                    assert x == y or x == pytest.approx(y), (seed, i)
                    continue
                assert (x.shape, x.stride(), x.requires_grad) == (y.shape, y.stride(), y.requires_grad), (seed, i)
                torch.testing.assert_close(y.detach(), x.detach(), rtol=1e-5, atol=1e-6, msg=f"seed {seed}, step {i}")
