"""FakeTensorProp: each node's fake result; expected values are PyTorch 2.13's."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch._subclasses import FakeTensorMode
from shim_torch._subclasses.fake_tensor import FakeTensor
from shim_torch.fx import symbolic_trace
from shim_torch.fx.passes.fake_tensor_prop import FakeTensorProp
from shim_torch.utils._sympy.functions import FloorDiv


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x, k):
        a, b = self.layer(x).split(2, 1)
        return torch.relu(a) + b.sum() * k, x.shape[0]


class Views(nn.Module):
    def forward(self, x):
        return {"a": x + 1, "b": [x.view(-1), x.size(0)]}


def test_nodes_keep_their_results_without_gradients():
    traced, mode = symbolic_trace(Layers()), FakeTensorMode(allow_non_fake_inputs=True)
    result, rows = FakeTensorProp(traced, mode).propagate(torch.randn(5, 3), 2)
    assert isinstance(result, FakeTensor) and result.fake_mode is mode and result.requires_grad
    assert (tuple(result.shape), rows) == ((5, 2), 5)
    kept = {node.name: node.meta["val"] for node in traced.graph.nodes}
    shapes = {name: tuple(v.shape) for name, v in kept.items() if isinstance(v, torch.Tensor)}
    assert shapes["layer"] == (5, 4) and shapes["relu"] == (5, 2) and shapes["sum_1"] == ()
    assert not any(v.requires_grad for v in kept.values() if isinstance(v, torch.Tensor))
    assert [tuple(v.shape) for v in kept["split"]] == [(5, 2), (5, 2)]
    assert kept["k"] == 2 and kept["output"][1] == 5


def test_results_in_containers_and_fake_arguments():
    mode = FakeTensorMode()
    prop = FakeTensorProp(symbolic_trace(Views()), mode)
    fake = mode.from_tensor(torch.ones(2, 3))
    for run in (prop.propagate, prop.propagate_dont_convert_inputs):
        result = run(fake)
        assert result["a"].fake_mode is mode and tuple(result["b"][0].shape) == (6,) and result["b"][1] == 2
    own = FakeTensorProp(symbolic_trace(Views()))
    assert own.propagate(torch.ones(1, 2))["a"].fake_mode is own._mode


def test_plain_parameters_are_refused():
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        FakeTensorProp(symbolic_trace(Layers())).propagate(torch.ones(2, 3), 2)


def test_no_size_is_an_expression():
    assert not isinstance(torch.ones(7).shape[0] // 2, FloorDiv)
    with pytest.raises(NotImplementedError, match="FloorDiv is not supported by shim-torch: sizes are plain numbers"):
        FloorDiv(7, 2)
