"""How records call operators: found by name in the table, seen by nobody above them and by dispatch modes below."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch._impl.table import calls
from shim_torch.overrides import TorchFunctionMode
from shim_torch.utils._python_dispatch import TorchDispatchMode


class Called(TorchFunctionMode):
    def __init__(self):
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Run(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_functions_operators_and_overloads():
    x = torch.tensor([[1.0, 5.0], [7.0, 2.0]])
    assert calls.torch.cat([x, x], 1).tolist() == torch.cat([x, x], 1).tolist()
    values, indices = calls.aten.max.dim(x, 1)
    assert values.tolist() == [5, 7] and indices.tolist() == [1, 0]
    assert calls.torch.max(x, 1).values.tolist() == [5, 7] and type(calls.aten.max(x, 1)) is tuple
    assert calls.aten.slice(x, 0, 1).tolist() == [[7, 2]] and calls.aten.slice is calls.aten.slice
    assert calls.shim.masked_scale(x, x > 2, 2.0).tolist() == [[0, 10], [14, 0]]


@pytest.mark.parametrize("namespace", ["torch", "aten", "shim"])
def test_what_there_is_not(namespace):
    with pytest.raises(AttributeError, match="no_such_operator"):
        getattr(calls, namespace).no_such_operator
    with pytest.raises(RuntimeError, match="operator aten::add.NoOverload does not exist"):
        calls.aten.add.NoOverload


def test_an_operator_of_others_is_called_once():
    x = torch.ones(2, 2)
    with Called() as called:
        torch.hstack([x, x])
        torch.std_mean(x)
        torch.block_diag(x, x)
    assert called.names == ["hstack", "std_mean", "block_diag"]


def test_dispatch_modes_see_what_it_is_made_of():
    x = torch.ones(2, 2)
    with Run() as run:
        torch.hstack([x, x])
    assert run.names == ["aten.cat.default"]


def test_gradients_of_composites_have_histories():
    x = torch.tensor([[1.0, 2.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda t: torch.cosine_similarity(t, t * t), x)
