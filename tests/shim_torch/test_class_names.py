"""Modules and optimizers pickle wherever pickle is called: with the name torch where that is ours, else without."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest

import shim_torch as torch
from shim_torch import nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        self.norm = nn.LayerNorm(3)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_without_a_module_called_torch(protocol):
    block = Block()
    data = pickle.dumps(block, protocol)
    again = pickle.loads(data)
    assert type(again) is Block and type(again.inner[0]) is nn.Linear and type(again.norm) is nn.LayerNorm
    assert all(torch.equal(a, b) for a, b in zip(block.parameters(), again.parameters(), strict=True))
    assert again.inner[0](torch.ones(1, 2)).shape == (1, 3)


def test_beside_another_torch(monkeypatch):
    import types

    other = types.ModuleType("torch.nn.modules.linear")
    other.Linear = type("Linear", (), {})
    monkeypatch.setitem(sys.modules, "torch.nn.modules.linear", other)
    assert type(pickle.loads(pickle.dumps(nn.Linear(2, 2)))) is nn.Linear


def test_where_torch_is_ours_the_name_is_torch(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "shim_torch"]:
        monkeypatch.setitem(sys.modules, "torch" + name[len("shim_torch") :], sys.modules[name])
    data = pickle.dumps(nn.Linear(2, 2))
    assert b"torch.nn.modules.linear" in data and b"_class_names" not in data
    assert type(pickle.loads(data)) is nn.Linear


def test_copies_and_optimizers():
    layer = nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    twin = copy.deepcopy(layer)
    assert type(twin) is nn.Linear and torch.equal(twin.weight, layer.weight)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=0.25)
    optimizer.step()
    again = pickle.loads(pickle.dumps(optimizer))
    assert type(again) is torch.optim.AdamW and again.param_groups[0]["lr"] == 0.25 and len(again.state) == 2


def test_a_class_with_a_reduce_of_its_own_keeps_it():
    class Own(nn.Linear):
        def __reduce__(self):
            return tuple, ((1, 2),)

    assert pickle.loads(pickle.dumps(Own(1, 1))) == (1, 2)


def test_functions_of_the_core_are_built_in_functions():
    """Their types have names, not members, for a module; code that asks whether they are built in is told so."""
    import inspect
    import types

    for function in (torch.add, torch.nn.functional.linear):
        assert (
            inspect.isbuiltin(function)
            and inspect.isroutine(function)
            and isinstance(function, types.BuiltinFunctionType)
        )
        assert f"{type(function).__module__}.{type(function).__name__}" == "builtins.builtin_function_or_method"
        with pytest.raises(ValueError, match="no signature found for builtin"):
            inspect.signature(function)
    method = torch.Tensor.add
    assert isinstance(method, types.MethodDescriptorType) and type(method).__module__ == "builtins"
    assert torch.add.__module__ == "torch" and method.__module__ is None
    torch.add.__module__ = "elsewhere"
    assert torch.add.__module__ == "elsewhere" and torch.mul.__module__ == "torch"
    torch.add.__module__ = "torch"
