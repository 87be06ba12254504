"""Optimizers whose formulas take lists of tensors for one give what they give one at a time."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._impl.optim import tensor_lists

CASES = [
    ("Adadelta", {}), ("Adamax", {"weight_decay": 0.1}), ("NAdam", {"weight_decay": 0.1}), ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RAdam", {"weight_decay": 0.1}), ("Adagrad", {"lr_decay": 0.1}), ("RMSprop", {"momentum": 0.9}), ("RMSprop", {"centered": True, "maximize": True}),
]  # fmt: skip


@pytest.mark.parametrize("name, settings", CASES, ids=str)
def test_lists(name, settings, monkeypatch):
    monkeypatch.setattr(tensor_lists, "plain", lambda tensors: True)
    torch.manual_seed(0)
    start = [torch.randn(3, 4), torch.randn(5), torch.randn(2, 2)]
    grads = [[torch.randn_like(p) for p in start] for _ in range(8)]
    sides = []
    for lists in (False, True):
        own = [p.clone().requires_grad_() for p in start]
        optimizer = getattr(torch.optim, name)(own, lr=0.05, **settings)
        for given in grads:
            for p, g in zip(own, given, strict=True):
                p.grad = g.clone()
            if not lists:
                optimizer.step()
                continue
            (group,) = optimizer.param_groups
            with torch.no_grad():
                for state in optimizer.state.values():
                    assert set(state) >= {"step"}
                _as_on_cuda(optimizer, own, group)
        sides.append([*own, *(v for p in own for v in optimizer.state[p].values())])
    for one, other in zip(*sides, strict=True):
        torch.testing.assert_close(other, one)


def _as_on_cuda(optimizer, own, group):
    assert tensor_lists.update(optimizer, own, group)


def test_what_is_not_done_together():
    own = [torch.randn(3, requires_grad=True) for _ in range(2)]
    for p in own:
        p.grad = torch.ones_like(p)
    optimizer = torch.optim.RMSprop(own)
    assert not tensor_lists.update(optimizer, own, optimizer.param_groups[0]) and not optimizer.state
