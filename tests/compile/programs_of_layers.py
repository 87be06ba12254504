"""Programs of test_model_programs.py: layers of many kinds, with hooks, modes and random numbers, and models that are changed."""

from __future__ import annotations

import copy

from programs_of_models import CASES as CASES
from programs_of_models import case, filled, gradients, x_of

import shim_torch as torch
import shim_torch.nn.functional as F
from shim_torch import nn


@case
def hooks_of_modules():
    model = filled(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)))
    seen = []
    model[0].register_forward_pre_hook(lambda m, a: (a[0] * 2,))
    model[1].register_forward_hook(lambda m, a, out: out + 1)
    model[2].register_full_backward_hook(lambda m, before, after: (before[0] * 3,))
    model[0].weight.register_hook(lambda g: g.clamp(-0.1, 0.1))
    model[2].weight.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))
    model.register_buffer("steps", torch.zeros((), dtype=torch.long))
    nn.utils.parametrizations.weight_norm(model[2])

    def f(x):
        z = x.clone().requires_grad_()
        model.steps += 1
        handle = None
        if int(model.steps) % 3 == 0:
            handle = model[1].register_forward_hook(lambda m, a, out: seen.append(out.sum().detach()))
        y = model(z)
        y.retain_grad()
        y.square().sum().backward()
        if handle:
            handle.remove()
        return y, z.grad, y.grad, gradients(model), model.steps.clone(), list(seen)

    return f, lambda i: (x_of(start=i),)


def _changes(model, saved):
    """What happens to a model between calls."""
    yield lambda: model.load_state_dict({k: v * 2 for k, v in saved.items()})
    yield lambda: setattr(model[0].weight, "data", model[0].weight.data.t().contiguous())
    yield lambda: model.__setitem__(1, copy.deepcopy(model[0]))
    yield lambda: model[0].weight.requires_grad_(False)
    yield lambda: model.double().float()
    yield lambda: setattr(model[0], "bias", None)
    yield lambda: setattr(model[1], "weight", model[0].weight)
    yield lambda: setattr(model, "forward", lambda x: x * 2 + model[0](x))
    yield lambda: delattr(model, "forward")
    yield lambda: model.append(nn.ReLU())
    yield lambda: nn.init.constant_(model[0].weight, 0.5)


@case
def a_model_that_is_changed():
    model = filled(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)))
    changes = _changes(model, {k: v.clone() for k, v in model.state_dict().items()})

    def f(x):
        y = model(x)
        if y.requires_grad:
            y.sum().backward()
        next(changes, lambda: None)()
        return y, gradients(model), [p.requires_grad for p in model.parameters()]

    return f, lambda i: (x_of(start=i),)


@case
def layers_of_many_kinds():
    lstm, cell = filled(nn.LSTM(4, 5, batch_first=True, num_layers=2)), filled(nn.GRUCell(4, 5))
    attention = filled(nn.MultiheadAttention(4, 2, batch_first=True))
    encoder = filled(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True, norm_first=True))
    bag = filled(nn.EmbeddingBag(6, 4, mode="mean"))

    def f(x, ids):
        n, hidden = x.shape[1], torch.zeros(2, 5)
        o, (h, _) = lstm(x)
        for t in range(n):
            hidden = cell(x[:, t], hidden)
        padding = ids[:, :n] == 0
        a, w = attention(x, x, x, need_weights=True, key_padding_mask=padding)
        e, b = encoder(x, src_key_padding_mask=padding), bag(ids)
        sampled = F.grid_sample(x[:, None], torch.tanh(x_of(2, 3, 3, 2)), align_corners=False)
        larger = F.interpolate(x[:, None], scale_factor=2.0, mode="bilinear")
        lengths = torch.tensor([n] * 2), torch.tensor([1, 1])
        ctc = F.ctc_loss(F.log_softmax(x.transpose(0, 1), -1), torch.tensor([[1], [2]]), *lengths)
        (o.sum() + hidden.sum() + a.sum() + e.sum() + b.sum()).backward()
        return o, h, hidden, a, w, e, b, sampled, larger, ctc, gradients(lstm, cell, attention, encoder, bag)

    return f, lambda i: (x_of(2, 3 + i % 2, 4, start=i), torch.tensor([[1, 2, 0, 3], [4, 0, i % 6, 5]]))


@case
def modes_within_and_a_layer():
    layer = filled(nn.Linear(4, 4))

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a = layer(x)
            with torch.autocast("cpu", enabled=False):
                b = layer(x.float())
            c = F.layer_norm(a, (4,)).square().sum() + F.softmax(a, -1).sum()
        with torch.no_grad():
            d = layer(x) * 2
        with torch.inference_mode():
            e = x + 1
        with torch.enable_grad():
            (g,) = torch.autograd.grad((layer(x) ** 2).sum(), layer.weight)
        c.backward()
        return a, b, c, d, e.is_inference(), g, gradients(layer), x.to(torch.float64).half().float(), d.requires_grad

    return f, lambda i: (x_of(start=i),)


@case
def random_layers():
    parts = nn.Linear(4, 6), nn.Dropout(0.3), nn.Linear(6, 4), nn.AlphaDropout(0.2)
    model = filled(nn.Sequential(*parts))

    def f(x):
        a = model(x)
        with torch.random.fork_rng():
            torch.manual_seed(7)
            b = model(x)
        c = model.eval()(x)
        model.train()
        drawn = torch.randn(2), F.dropout1d(x.t()[None], 0.5), torch.randperm(4), torch.multinomial(x.abs(), 2)
        return a, b, c, drawn, torch.rand(2)

    return f, lambda i: (x_of(start=i),)
