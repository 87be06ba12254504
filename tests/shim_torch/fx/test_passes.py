"""Passes over graphs: parts made modules, patterns looked for, equal steps made one, nested concrete arguments."""

from __future__ import annotations

import operator
from collections import namedtuple

import pytest

import shim_torch as torch
from shim_torch import nn
from shim_torch.fx import PH, Graph, GraphModule, Tracer, symbolic_trace
from shim_torch.fx._symbolic_trace import PHWithMeta
from shim_torch.fx.passes.dialect.common.cse_pass import CSEPass, get_CSE_banned_ops
from shim_torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from shim_torch.fx.passes.operator_support import OperatorSupport, OpSupports, any_chain, chain, create_op_support
from shim_torch.fx.passes.shape_prop import ShapeProp
from shim_torch.fx.passes.split_utils import getattr_recursive, setattr_recursive, split_by_tags
from shim_torch.fx.passes.tools_common import get_node_target, legalize_graph, stable_topological_sort
from shim_torch.fx.passes.utils.fuser_utils import fuse_by_partitions, topo_sort, validate_partition
from shim_torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from shim_torch.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap
from shim_torch.fx.passes.utils.source_matcher_utils import check_subgraphs_connected, get_source_partitions
from shim_torch.fx.subgraph_rewriter import replace_pattern
from shim_torch.fx.tensor_type import Dyn, TensorType, is_consistent, is_more_precise


class Adds(OperatorSupport):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target in (operator.add, operator.getitem, torch.ops.aten.std_mean)


def names(gm):
    return {n.name: n for n in gm.graph.nodes}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, a, b):
        x = a + b
        y = self.linear(x)
        z = x + self.weight
        return y + z, z


def test_sets_of_nodes_become_modules():
    model, inputs = Model(), (torch.randn(2, 4), torch.randn(2, 4))
    gm = symbolic_trace(model)
    by_name = names(gm)
    assert topo_sort([by_name["add_2"], by_name["add_1"], by_name["linear"]])[-1] is by_name["add_2"]
    assert not validate_partition([by_name["add"], by_name["add_2"]])
    fused = fuse_by_partitions(gm, [dict.fromkeys(by_name[n] for n in ("weight", "add_1", "add_2"))])
    assert [n.op for n in fused.graph.nodes] == ["placeholder", "placeholder", "call_function", "call_module", "call_module",
                                                 "call_function", "call_function", "output"]  # fmt: skip
    assert {n.name for n in fused.fused_0.graph.nodes if n.op == "placeholder"} == {"linear", "add"}
    assert fused.fused_0.weight is model.weight
    for got, expected in zip(fused(*inputs), model(*inputs), strict=True):
        assert torch.equal(got, expected)
    with pytest.raises(AssertionError, match="found dependency cycles"):
        gm = symbolic_trace(model)
        fuse_by_partitions(gm, [dict.fromkeys(names(gm)[n] for n in ("add", "add_2"))])


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda a, b: ((a + b).relu() + b) + a, [{"add_2", "add_1"}, {"add"}]),
        (lambda a, b: (a + b, b + b), [{"add", "add_1"}]),
        (lambda a, b: torch.ops.aten.std_mean(a)[0] + b, [{"add", "std_mean", "getitem"}]),
        (lambda a, b: (a + b).relu(), [{"add"}]),
    ],
)
def test_partitions_are_as_large_as_can_be(function, expected):
    gm = symbolic_trace(function)
    partitioner = CapabilityBasedPartitioner(gm, Adds(), allows_single_node_partition=True)
    found = partitioner.propose_partitions()
    assert [{n.name for n in p.nodes} for p in found] == expected
    a, b = torch.randn(3), torch.randn(3)
    got, wanted = partitioner.fuse_partitions(found)(a, b), function(a, b)
    for x, y in zip(got if isinstance(got, tuple) else [got], wanted if isinstance(wanted, tuple) else [wanted], strict=True):
        assert torch.equal(x, y)
    alone = CapabilityBasedPartitioner(symbolic_trace(function), Adds()).propose_partitions()
    assert [len(p.nodes) for p in alone] == [len(e) for e in expected if sum("add" in n or "std" in n for n in e) > 1]


def test_supports_are_chained():
    gm = symbolic_trace(Model())
    ShapeProp(gm).propagate(torch.randn(2, 4), torch.randn(2, 4))
    modules, by_name = dict(gm.named_modules()), names(gm)
    assert get_node_target(modules, by_name["linear"]).endswith("nn.modules.linear.Linear")
    assert get_node_target(modules, by_name["add"]) == "_operator.add"
    adds = OperatorSupport({"_operator.add": None})
    typed = OperatorSupport({"_operator.add": (((torch.float64,),), {})})
    no_name = OpSupports.decline_if_node_in_names({"add"})
    no_float = OpSupports.decline_if_input_dtype(torch.float32)

    def said(support):
        return [n for n in ("add", "add_1", "linear") if support.is_node_supported(modules, by_name[n])]

    assert said(adds) == ["add", "add_1"] and said(typed) == [] and said(no_float) == []
    assert said(chain(adds, no_name)) == ["add_1"]
    assert said(any_chain(adds, create_op_support(lambda _, n: n.op == "call_module"))) == ["add", "add_1", "linear"]


def test_a_graph_is_cut_by_tags():
    model, inputs = Model(), (torch.randn(2, 4), torch.randn(2, 4))
    gm = symbolic_trace(model)
    for node in gm.graph.nodes:
        node.meta["from"] = node.name
        node.tag = {"add": "one", "linear": "two"}.get(node.name, "three")
    cut, paths = split_by_tags(gm, ["one", "two", "three"], return_fqn_mapping=True)
    assert [name for name, _ in cut.named_children()] == ["one", "two", "three"]
    assert paths == {"linear": "two.linear", "weight": "three.weight"}
    assert names(cut.two)["linear"].meta["from"] == "linear" and names(cut)["a"].meta["from"] == "a"
    for got, expected in zip(cut(*inputs), model(*inputs), strict=True):
        assert torch.equal(got, expected)
    with pytest.raises(AssertionError, match="Component one order must be >= max of its upstream components, order=0 and max=1"):
        for node in gm.graph.nodes:
            node.tag = "two" if node.name == "add" else "one"
        split_by_tags(gm, ["one", "two"])
    setattr_recursive(cut, "two.linear.extra", 3)
    assert getattr_recursive(cut, "two.linear.extra") == 3 and getattr_recursive(cut, "two.nothing") is None


def test_nodes_are_put_in_order():
    gm = symbolic_trace(lambda a: (a + 1) * 2)
    by_name = names(gm)
    by_name["mul"].append(by_name["add"])  # now read before it is computed
    stable_topological_sort(gm)
    assert [n.name for n in gm.graph.nodes] == ["a", "add", "mul", "output"]
    by_name["mul"].append(by_name["add"])
    legalize_graph(gm)
    gm.recompile()
    assert [n.op for n in gm.graph.nodes] == ["placeholder", "call_function", "call_function", "output"]
    assert gm(torch.tensor(3.0)).item() == 8.0


def test_equal_steps_become_one():
    def f(x):
        return torch.ops.aten.cos(x) + torch.ops.aten.cos(x), torch.ops.aten.mul(x, 1), torch.ops.aten.mul(x, True)

    banned = get_CSE_banned_ops()
    result = CSEPass(banned_ops=banned)(symbolic_trace(f))
    assert result.modified and [n.name for n in result.graph_module.graph.nodes].count("cos_1") == 0
    assert len(result.graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten.mul)) == 2  # 1 is not True
    assert not CSEPass(banned_ops=banned)(result.graph_module).modified
    x = torch.randn(2, 3)
    assert torch.equal(result.graph_module(x)[0], 2 * torch.cos(x))
    assert torch.ops.aten.rand_like in banned and torch.ops.aten.add_ in banned


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
    assert [n.name for n in two.returning_nodes] == ["add", "mul"] and [n.name for n in two.placeholder_nodes] == ["x", "y"]
    assert found(lambda x: torch.add(torch.relu(x), 2)) == []  # mul reads the relu too
    with pytest.raises(ValueError, match="empty pattern"):
        SubgraphMatcher(Graph())


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
    matches = replace_pattern(gm, lambda x, k, s: pool(x, k, s, padding=[0, 0]), lambda x, k, s: pool(x, s, k, padding=[1, 1]))
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
    gm = symbolic_trace(lambda x, n, m: torch.transpose(x, n, m).unsqueeze(n).sum(m) + torch.roll(x, n).topk(m)[0].sum())
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
    graph = Tracer().trace(lambda a, b: a + b["k"], concrete_args={"a": PHWithMeta("first"), "b": {"k": PHWithMeta("second")}})
    assert [n.ph_key for n in graph.nodes if n.op == "placeholder"] == ["first", "second"]
    assert repr(PH) == "PH"


def test_types_of_tensors():
    known, open_ = TensorType((1, 2)), TensorType((1, Dyn))
    assert known == TensorType[1, 2] and known != open_ and str(open_) == "TensorType[(1, Dyn)]"
    assert is_consistent(known, open_) and is_consistent(Dyn, known) and not is_consistent(known, TensorType((1, 3)))
    assert is_more_precise(known, open_) and not is_more_precise(open_, known) and not is_consistent(known, TensorType((1,)))


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
