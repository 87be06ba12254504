"""``torch.compile`` of a module: an OptimizedModule over it, as libraries take it apart again."""

from __future__ import annotations

import copy
import pickle

import pytest

import shim_torch as torch


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
        self.factor = 3

    def forward(self, x):
        return self.inner(x) * self.factor


def test_calls_and_names():
    module = Scale()
    compiled = torch.compile(module, backend="inductor", mode="max-autotune")
    assert type(compiled) is torch._dynamo.eval_frame.OptimizedModule is torch._dynamo.OptimizedModule
    assert compiled._orig_mod is module and not isinstance(compiled, Scale)
    assert list(compiled.state_dict()) == ["_orig_mod.inner.weight", "_orig_mod.inner.bias"]
    assert [name for name, _ in compiled.named_modules()] == ["", "_orig_mod", "_orig_mod.inner"]
    x = torch.ones(1, 2)
    calls = []
    module.register_forward_hook(lambda *_: calls.append("module"))
    compiled.register_forward_hook(lambda *_: calls.append("compiled"))
    assert torch.equal(compiled(x), module.forward(x)) and calls == ["module", "compiled"]
    compiled.load_state_dict({name: value * 0 for name, value in compiled.state_dict().items()})
    assert not module.inner.weight.any()


def test_attributes_are_the_modules():
    module = Scale()
    compiled = torch.compile(module)
    compiled.factor = 4
    compiled.extra = torch.nn.Parameter(torch.zeros(1))
    compiled.register_buffer("kept", torch.zeros(1))
    assert module.factor == 4 and "extra" in dict(module.named_parameters()) and "factor" in dir(compiled)
    compiled.eval()
    assert not module.training and not compiled.training and not module.inner.training
    compiled.training = True
    assert module.training and not module.inner.training
    del compiled.factor
    assert not hasattr(module, "factor")
    with pytest.raises(AttributeError, match="'Scale' object has no attribute 'absent'"):
        compiled.absent
    with pytest.raises(TypeError, match="Scale does not support len"):
        len(compiled)
    assert len(torch.compile(torch.nn.Sequential(torch.nn.ReLU()))) == 1
    assert compiled.to(torch.float64) is compiled and module.inner.weight.dtype == torch.float64


def test_copies_and_pickles():
    compiled = torch.compile(torch.nn.Linear(2, 2))
    for other in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert type(other) is type(compiled) and other._orig_mod is not compiled._orig_mod
        assert torch.equal(other.weight, compiled.weight)


def test_what_stays_as_it_is():
    module = Scale()
    assert torch.compile(module, disable=True) is module
    x = torch.ones(1, 2)
    assert torch.equal(torch.compile(module.forward)(x), module(x))

    @torch.compile(fullgraph=True)
    def double(x):
        return x * 2

    assert double(3) == 6 and torch.compile()(module)._orig_mod is module
