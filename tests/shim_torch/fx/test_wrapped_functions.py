"""Functions of torch.fx.wrap stay single nodes wherever a graph that has them goes."""

from __future__ import annotations

import copy
import pickle

import shim_torch as torch
import shim_torch.fx


@torch.fx.wrap
def plus_one(x):
    return x + 1


def user(x):
    return plus_one(x) * torch.relu(x)


def test_code_says_what_is_wrapped_and_tracing_it_again_keeps_that():
    name = plus_one.__module__.replace(".", "_") + "_plus_one"
    first = torch.fx.symbolic_trace(user)
    assert [n.meta for n in first.graph.nodes][1] == {"is_wrapped": True}
    assert first.code.startswith(
        f'\ntorch.fx._symbolic_trace.wrap("{name}")\n\ndef forward(self, x):\n    plus_one = {name}(x)\n'
    )
    x = torch.tensor([1.0, -2.0])
    for again in (torch.fx.symbolic_trace(first), pickle.loads(pickle.dumps(first)), copy.deepcopy(first)):
        assert [n.target for n in again.graph.nodes][1] is plus_one and again.code == first.code
        assert again(x).tolist() == [2.0, 0.0]


def test_a_node_made_by_hand_is_not_wrapped():
    graph = torch.fx.Graph()
    graph.output(graph.call_function(plus_one, (graph.placeholder("x"),)))
    assert torch.fx.GraphModule({}, graph).code.startswith("\n\n\ndef forward(self, x):")
