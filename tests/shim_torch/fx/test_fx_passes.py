"""Graphs in parts, and what tracing notes; values and codes are PyTorch's."""

import pytest

import shim_torch as torch
from shim_torch.fx import ProxyableClassMeta, Tracer, symbolic_trace
from shim_torch.fx.immutable_collections import immutable_dict, immutable_list
from shim_torch.fx.passes.split_module import split_module
from shim_torch.utils import _pytree as pytree


class Parts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.arange(4.0))
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x, y=2):
        c = self.a + 1
        d = torch.cat((c, self.a))
        return self.lin(x) + c * 2 - d[:4] * y


def _body(gm):
    return [line.strip() for line in gm.code.strip().splitlines()]


def _in_threes(count=3):
    seen = [-1]

    def part(_):
        seen[0] += 1
        return seen[0] // count

    return part


def test_a_graph_in_parts():
    m, x, names = Parts(), torch.arange(4.0), {}
    split = split_module(symbolic_trace(m), m, _in_threes(), names)
    assert torch.equal(split(x), m(x))
    assert _body(split)[0] == "def forward(self, x, y = 2):"
    assert _body(split.submod_0) == [
        "def forward(self, a, x):",
        "add = a + 1",
        "cat = torch.cat((add, a));  a = None",
        "lin = self.lin(x);  x = None",
        "return (add, lin, cat)",
    ]
    assert names == {"submod_0.lin": "lin"}
    kept = split_module(
        symbolic_trace(m), m, _in_threes(), keep_original_order=True, partition_affix="pp", tuple_return=True
    )
    assert torch.equal(kept(x), m(x))
    assert [n for n, _ in kept.named_children() if n.startswith("submod")] == [
        "submod_pp_0",
        "submod_pp_1",
        "submod_pp_2",
    ]


def test_parts_that_need_each_other():
    with pytest.raises(RuntimeError, match="cycle exists between partitions!"):
        order = iter([0, 1, 0, 1, 0, 1, 0, 1])
        split_module(symbolic_trace(Parts()), None, lambda _: next(order))


class Pair(metaclass=ProxyableClassMeta):
    def __init__(self, left, right):
        self.left, self.right = left, right

    def add(self, other):
        return Pair(self.left + other.left, self.right + other.right)


def test_classes_that_tracing_takes_as_they_are():
    def f(x, y):
        return Pair(x, y).add(Pair(torch.ones(2), torch.ones(2)))

    traced = symbolic_trace(f)
    out = traced(torch.zeros(2), torch.ones(2))
    assert out.left.tolist() == [1.0, 1.0] and out.right.tolist() == [2.0, 2.0]
    assert "_Pair_constant_0" in traced.code


def test_nodes_tell_of_the_modules_around_them():
    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.s = torch.nn.ModuleDict({"lin": torch.nn.Linear(2, 2)})

        def forward(self, x):
            return self.s["lin"](self.s["lin"](x))

    nodes = [n for n in symbolic_trace(Outer()).graph.nodes if n.op == "call_module"]
    stacks = [list(n.meta["nn_module_stack"].items()) for n in nodes]
    assert stacks == [[("s.lin", ("s.lin", torch.nn.Linear))], [("s.lin@1", ("s.lin", torch.nn.Linear))]]


def test_none_is_a_value_of_its_own():
    gm = symbolic_trace(lambda x, val=None: x if val is None else x + val, concrete_args={"val": None})
    assert gm(3) == 3
    with pytest.raises(AssertionError, match="val has been specialized to have value None but got another value"):
        gm(3, 4)


def test_containers_that_do_not_change_are_trees():
    leaves, spec = pytree.tree_flatten(immutable_list([3, immutable_dict({"a": [1, 2]})]))
    assert leaves == [3, 1, 2]
    again = pytree.tree_unflatten(leaves, spec)
    assert type(again) is immutable_list and type(again[1]) is immutable_dict
    with pytest.raises(TypeError, match="'immutable_list' object does not support mutation.*\n.*\n\n    new_args = "):
        again.append(1)


def test_errors_in_a_graphs_code_say_where(capsys):
    gm = symbolic_trace(lambda x: torch.dot(x, x))
    with pytest.raises(TypeError):
        gm(5)
    assert (
        "Call using an FX-traced Module, line 5 of the traced Module's generated forward function:"
        in capsys.readouterr().err
    )


def test_copies_of_nodes_are_checked_by_lint_and_tracers_copy():
    import copy

    graph, other = symbolic_trace(lambda x: x + 1).graph, torch.fx.Graph()
    for node in graph.nodes:
        other.node_copy(node)
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        other.lint()
    tracer = Tracer()
    tracer.trace(lambda x: x + 1)
    assert str(copy.deepcopy(tracer).graph) == str(tracer.graph)


def test_parts_keep_what_was_noted_of_steps():
    single = symbolic_trace(lambda x: torch.relu(x) + 1)
    for i, node in enumerate(single.graph.nodes):
        node.meta["idx"] = i
    split = split_module(single, None, _in_threes(1))
    assert [(n.name, n.meta.get("idx")) for n in split.graph.nodes] == [
        ("x", 0),
        ("submod_0", 1),
        ("submod_1", 2),
        ("output", None),
    ]


def test_modules_of_a_replacement_are_brought_along():
    class Replacement(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.tanh = torch.nn.Tanh()

        def forward(self, x):
            return self.tanh(x)

    gm = symbolic_trace(lambda x: torch.relu(x) + 1)
    torch.fx.replace_pattern(gm, lambda x: torch.relu(x), Replacement())
    assert gm(torch.zeros(2)).tolist() == [1.0, 1.0] and type(gm.tanh) is torch.nn.Tanh
