"""Programs of test_model_programs.py: language models with masks and caches, training with statistics, schedules, hooks, averages."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn

CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def x_of(*shape, start=0.0):
    shape = shape or (3, 4)
    return (torch.arange(math.prod(shape), dtype=torch.float32) * 0.37 + start).sin().reshape(shape)


def filled(module):
    """The module with weights that are the same each time."""
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(x_of(*p.shape, start=k * 0.1) * 0.3)
    return module


def gradients(*modules):
    """Copies of the gradients, which are gone then."""
    all_of_them = [p.grad.clone() for m in modules for p in m.parameters() if p.grad is not None]
    for m in modules:
        m.zero_grad()
    return all_of_them


@dataclasses.dataclass
class Output:
    loss: Any = None
    logits: Any = None
    cache: Any = None


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.heads = heads

    def forward(self, x, mask=None, past=None):
        b, t, d = x.shape
        q, k, v = (w(x).view(b, t, self.heads, -1).transpose(1, 2) for w in (self.q, self.k, self.v))
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
        scores = scores + torch.full((t, k.shape[2]), float("-inf")).triu(1 + k.shape[2] - t)
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None, :] == 0, torch.finfo(scores.dtype).min)
        chances = F.softmax(scores, -1, dtype=torch.float32).to(q.dtype)
        return self.o((chances @ v).transpose(1, 2).reshape(b, t, d)), (k, v)


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=11, d=8, layers=2):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, d, padding_idx=0)
        self.blocks = nn.ModuleList([self.block(d) for _ in range(layers)])
        self.head = nn.Linear(d, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    @staticmethod
    def block(d):
        perceptron = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        return nn.ModuleDict({"norm": nn.LayerNorm(d), "attention": Attention(d, 2), "perceptron": perceptron})

    def forward(self, input_ids=None, attention_mask=None, past=None, use_cache=None, labels=None, **_):
        x = self.wte(input_ids)
        cache = []
        for i, b in enumerate(self.blocks):
            a, kept = b["attention"](b["norm"](x), mask=attention_mask, past=past[i] if past else None)
            cache.append(kept)
            x = x + a
            x = x + b["perceptron"](x)
        logits = self.head(x)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].reshape(-1), ignore_index=-100)
        return Output(loss, logits, cache if use_cache else None)


@case
def language_model():
    model = filled(LanguageModel())

    def f(ids, mask, labels):
        out = model(input_ids=ids, attention_mask=mask, labels=labels, use_cache=True)
        model.zero_grad()
        out.loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(p.grad, alpha=0.05)
        return out.loss, out.logits, out.cache, model.wte.weight.clone()

    def arguments(i):
        ids = (torch.arange(12).reshape(2, 6) * 7 + i) % 11
        mask = torch.ones(2, 6, dtype=torch.long)
        mask[1, 4:] = 0
        return ids, mask, torch.where(mask == 0, -100, ids)

    return f, arguments


@case
def generation_with_a_cache():
    model = filled(LanguageModel()).eval()

    @torch.no_grad()
    def f(ids, n):
        past, out = None, ids
        for _ in range(n):
            r = model(input_ids=ids, past=past, use_cache=True)
            past, ids = r.cache, r.logits[:, -1].argmax(-1, keepdim=True)
            out = torch.cat([out, ids], 1)
            if (ids == 0).all():
                break
        return out

    return f, lambda i: ((torch.arange(6).reshape(2, 3) * 3 + i) % 11, 3 + i % 3)


class Decoder(nn.Module):
    """One layer with a static cache, rotary positions and a mask that is looked up."""

    def __init__(self, d=8, heads=2, n=12, vocabulary=13):
        super().__init__()
        self.emb, self.out = nn.Embedding(vocabulary, d), nn.Linear(d, vocabulary, bias=False)
        self.qkv, self.norm = nn.Linear(d, 3 * d, bias=False), nn.Parameter(torch.ones(d))
        for name in ("k", "v"):
            self.register_buffer(name, torch.zeros(1, heads, n, d // heads))
        self.register_buffer("mask", torch.tril(torch.ones(n, n, dtype=torch.bool)))
        rates = 1.0 / (100 ** (torch.arange(0, d // heads, 2).float() / (d // heads)))
        self.register_buffer("angles", torch.outer(torch.arange(n).float(), rates))

    def turned(self, x, pos):
        a = self.angles[pos]
        c, s = a.cos().view(1, -1, 1, a.shape[-1]), a.sin().view(1, -1, 1, a.shape[-1])
        x = x.float().reshape(*x.shape[:-1], -1, 2)
        parts = [x[..., 0] * c - x[..., 1] * s, x[..., 1] * c + x[..., 0] * s]
        return torch.stack(parts, -1).flatten(3)

    def forward(self, ids, pos):
        x = self.emb(ids)
        y = x * torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + 1e-5) * self.norm
        q, k, v = (t.view(1, ids.shape[1], 2, -1) for t in self.qkv(y).split(8, -1))
        q, k, v = (t.transpose(1, 2) for t in (self.turned(q, pos), self.turned(k, pos), v))
        self.k[:, :, pos] = k
        self.v[:, :, pos] = v
        y = F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=self.mask[None, None, pos])
        return self.out(x + y.transpose(1, 2).reshape(1, -1, 8))


@case
def decoding_with_a_static_cache():
    model = filled(Decoder()).eval()

    @torch.inference_mode()
    def f(ids, start):
        pos = torch.arange(start, start + ids.shape[1])
        logits = model(ids, pos)
        following = torch.topk(logits[:, -1], 3).indices[:, :1]
        again = model(following, pos[-1:] + 1)
        return logits, following, again.softmax(-1), model.k.clone()

    return f, lambda i: ((torch.arange(3).reshape(1, 3) + i) % 13, i % 4)


@case
def statistics_of_batches():
    parts = [nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 3, 1)]
    model = filled(nn.Sequential(*parts, nn.BatchNorm2d(3, momentum=None), nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    calls = []

    def f(x, t):
        calls.append(1)
        model.train(len(calls) % 4 != 0)
        y = model(x)
        loss = F.cross_entropy(y, t, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=len(calls) % 2 == 0)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss, y, [b.clone() for b in model.buffers()]

    return f, lambda i: (x_of(3, 2, 5, 5, start=i), torch.tensor([0, 2, i % 3]))


@case
def optimizers_and_averages():
    model = filled(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)))
    groups = [{"params": model[0].parameters(), "weight_decay": 0.1}, {"params": model[2].parameters(), "lr": 0.02}]
    adam = torch.optim.AdamW(groups, lr=0.01, amsgrad=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(adam, [0.1, 0.05], total_steps=100)
    rms = torch.optim.RMSprop(model.parameters(), lr=0.001, centered=True)
    average = copy.deepcopy(model)
    calls = []

    def f(x, t):
        calls.append(1)
        loss = F.mse_loss(model(x), t)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        adam.step()
        if len(calls) % 3 == 0:
            rms.step()
        schedule.step()
        adam.zero_grad()
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.1)
            for a, p in zip(average.parameters(), model.parameters(), strict=True):
                a.mul_(0.99).add_(p, alpha=0.01)
        everything = [p.detach().clone() for m in (model, average) for p in m.parameters()]
        return loss, norm, everything, adam.param_groups[0]["lr"]

    return f, lambda i: (x_of(3, 4, start=i), x_of(3, 2, start=i + 1))
