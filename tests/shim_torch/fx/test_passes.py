"""Patterns looked for in graphs, and nested concrete arguments."""

from __future__ import annotations

import operator
from collections import namedtuple

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.fx import PH, Graph, GraphModule, Tracer, symbolic_trace
from shim_torch.fx._symbolic_trace import PHWithMeta
from shim_torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from shim_torch.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap
from shim_torch.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
from shim_torch.fx.subgraph_rewriter import replace_pattern


def names(gm):
    return {n.name: n for n in gm.graph.nodes}


def test_patterns_with_several_results_and_literals():
    def f(x, y):
        a = torch.relu(x)
        return torch.add(a, 2), torch.mul(a, y), torch.add(y, 3)

    graph = symbolic_trace(f).graph

    def found(pattern, **settings):
        return SubgraphMatcher(symbolic_trace(pattern).graph, **settings).match(graph)

    assert len(found(lambda x: torch.add(x, 2))) == 1
    assert len(found(lambda x: torch.add(x, 2), ignore_literals=True)) == 2
    assert len(found(lambda x, n: torch.add(x, n))) == 2  # an input of the pattern may be a number
    assert len(found(lambda x: torch.relu(x))) == 1
    assert not found(lambda x, y: (torch.add(torch.relu(x), 2), torch.mul(torch.relu(x), y)))  # there is one relu only

    def both(x, y):
        a = torch.relu(x)
        return torch.add(a, 2), torch.mul(a, y)

    (two,) = found(both)
    assert [n.name for n in two.returning_nodes] == ["add", "mul"] and [n.name for n in two.placeholder_nodes] == [
        "x",
        "y",
    ]
    assert found(lambda x: torch.add(torch.relu(x), 2)) == []  # mul reads the relu too
    with pytest.raises(ValueError, match="empty pattern"):
        SubgraphMatcher(Graph())


def _found(pattern, function, name="", **settings):
    matches = SubgraphMatcher(symbolic_trace(pattern).graph, **settings).match(symbolic_trace(function).graph, name)
    return [{a.name: getattr(b, "name", b) for a, b in m.nodes_map.items()} for m in matches]


def _relus(x):
    return torch.relu(torch.relu(torch.relu(x)))


def _product(x):
    a = torch.relu(x)
    return a * torch.neg(a)


@pytest.mark.parametrize(
    "pattern, function, settings, expected",
    [
        # a name stands for whatever the node does
        (lambda x: torch.tanh(torch.exp(x)), lambda x: torch.relu(torch.exp(x)) + 1, {"name": "relu"},
         [{"tanh": "relu", "exp": "exp", "x": "x"}]),
        (lambda x: torch.relu(torch.relu(x)), _relus, {}, [{"relu_1": "relu_1", "relu": "relu", "x": "x"}]),
        (lambda x: torch.relu(torch.relu(x)), _relus, {"remove_overlapping_matches": False},
         [{"relu_1": "relu_1", "relu": "relu", "x": "x"}, {"relu_1": "relu_2", "relu": "relu_1", "x": "relu"}]),
        (lambda x, y: torch.relu(x) * y, _product, {}, []),  # the product's other factor reads the relu, too
        (lambda x, y: (torch.relu(x), y), lambda x: (torch.relu(x), x + 1), {"match_output": True},
         [{"output": "output", "relu": "relu", "x": "x", "y": "add"}]),
        (lambda x: torch.relu(x) + 1, lambda x: (torch.relu(x) + 1) * 2, {"match_output": True}, []),
        (lambda x: torch.relu(x), lambda x: torch.relu(x + 2), {"match_placeholder": True}, []),
        (lambda x, n: torch.add(x, n) * n, lambda x: torch.add(x, 2) * 2, {}, [{"mul": "mul", "add": "add", "x": "x", "n": 2}]),
        (lambda x, n: torch.add(x, n) * n, lambda x: torch.add(x, 2) * 3, {}, []),
        (lambda x: torch.cat([x, x]), lambda x: torch.cat((x, x)), {}, [{"cat": "cat", "x": "x"}]),
        (lambda x: torch.cat([x, x]), lambda x: torch.cat([x, x, x]), {}, []),
        (lambda x: torch.add(x, 2), lambda x: torch.add(x, 2.0), {}, []),
    ],
)  # fmt: skip
def test_where_a_pattern_is(pattern, function, settings, expected):
    assert _found(pattern, function, **settings) == expected


def test_patterns_read_all_that_they_compute():
    def dead(x):
        x + 1
        return x

    with pytest.raises(AssertionError, match="pattern with dead code"):
        SubgraphMatcher(symbolic_trace(dead).graph)


def test_patterns_name_their_values():
    def pattern(x, y):
        a = torch.relu(x)
        b = torch.mul(a, y)
        return b, {"first": a, "last": b}

    matcher = SubgraphMatcherWithNameNodeMap(symbolic_trace(pattern))
    (match,) = matcher.match(symbolic_trace(lambda p, q: torch.mul(torch.relu(p), q) + 1).graph)
    assert {k: n.name for k, n in match.name_node_map.items()} == {"first": "relu", "last": "mul"}


def test_patterns_fit_operators_called_in_another_way():
    def f(x):
        return torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2], stride=[2, 2])

    gm = symbolic_trace(f)
    pool = torch.ops.aten.max_pool2d_with_indices.default
    matches = replace_pattern(
        gm, lambda x, k, s: pool(x, k, s, padding=[0, 0]), lambda x, k, s: pool(x, s, k, padding=[1, 1])
    )
    assert len(matches) == 1
    x = torch.randn(1, 1, 4, 4)
    assert torch.equal(gm(x)[0], pool(x, [2, 2], [2, 2], [1, 1])[0])


def test_sources_are_found_by_their_metadata():
    gm = symbolic_trace(lambda x: torch.relu(x + 1) * 2)
    by_name = names(gm)
    by_name["add"].meta["source_fn_stack"] = by_name["relu"].meta["source_fn_stack"] = [("block", nn.ReLU)]
    by_name["mul"].meta["source_fn_stack"] = [("mul", operator.mul)]
    found = get_source_partitions(gm.graph, [nn.ReLU, operator.mul])
    (block,), (product,) = found[nn.ReLU], found[operator.mul]
    assert [n.name for n in block.nodes] == ["add", "relu"] and [n.name for n in block.output_nodes] == ["relu"]
    assert [n.name for n in block.input_nodes] == ["x"]
    assert check_subgraphs_connected(block, product) and not check_subgraphs_connected(product, block)
    assert get_source_partitions(gm.graph, [nn.ReLU], lambda n: n.name != "add") == {nn.ReLU: []}


def test_values_not_known_may_be_numbers_of_operators():
    gm = symbolic_trace(
        lambda x, n, m: torch.transpose(x, n, m).unsqueeze(n).sum(m) + torch.roll(x, n).topk(m)[0].sum()
    )
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(gm(x, 0, 1), x.t().unsqueeze(0).sum(1) + torch.roll(x, 0).topk(1)[0].sum())


Point = namedtuple("Point", ["x", "y"])


@pytest.mark.parametrize(
    "given, value",
    [
        ({"a": PH, "b": (PH, PH)}, {"a": torch.ones(2), "b": (torch.ones(2), torch.ones(2) * 2)}),
        (Point(PH, PH), Point(torch.ones(2), torch.ones(2) * 3)),
        ([PH, 3], [torch.ones(2), 3]),
    ],
)
def test_concrete_arguments_may_be_nested(given, value):
    def f(x):
        leaves = torch.utils._pytree.tree_leaves(x)
        return sum(leaves)

    gm = symbolic_trace(f, concrete_args={"x": given})
    assert torch.equal(gm(value), f(value))
    assert torch.equal(symbolic_trace(gm, concrete_args={"x": given})(value), f(value))


def test_placeholders_carry_what_their_marks_say():
    graph = Tracer().trace(
        lambda a, b: a + b["k"], concrete_args={"a": PHWithMeta("first"), "b": {"k": PHWithMeta("second")}}
    )
    assert [n.ph_key for n in graph.nodes if n.op == "placeholder"] == ["first", "second"]
    assert repr(PH) == "PH"


def test_modules_without_an_owner_are_graph_modules():
    assert isinstance(symbolic_trace(lambda x: x + 1), GraphModule)


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def test_nested_arguments_may_hold_more_than_the_code_reads():
    from shim_torch.fx import _pytree as fx_pytree
    from shim_torch.utils import _pytree

    gm = symbolic_trace(lambda x: x["a"] + x["z"][0], concrete_args={"x": {"a": PH, "z": (PH, PH)}})
    assert gm({"other": 5, "z": (torch.tensor(2.0), 7), "a": torch.tensor(1.0)}).item() == 3.0
    _, spec = _pytree.tree_flatten([1, {"k": (2, 3)}])
    assert fx_pytree.tree_flatten_spec([4, {"k": (5, 6), "more": 7}], spec) == [4, 5, 6]
    fx_pytree.register_pytree_flatten_spec(Pair, lambda p, spec: [p.a, p.b])
    assert fx_pytree.SUPPORTED_NODES[Pair](Pair(1, 2), None) == [1, 2]


def test_fx_names_are_there():
    assert isinstance(torch.fx.Node, type)
    assert issubclass(torch.fx.GraphModule, torch.nn.Module)
    from shim_torch.fx.node import map_aggregate

    assert map_aggregate({"a": [1, (2,)]}, lambda x: x + 1) == {"a": [2, (3,)]}
