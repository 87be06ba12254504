"""Copies of graphs, what graph modules take of their roots, steps that are run one by one, and what nodes say."""

from __future__ import annotations

import copy
import operator
import typing

import pytest

import shim_torch as torch
import shim_torch.fx as fx
from shim_torch import nn
from shim_torch.fx import graph_module, node
from shim_torch.fx.passes.shape_prop import ShapeProp


def function(x, y=2):
    a = torch.relu(x)
    return a + y, {"k": a}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.named = nn.Linear(2, 2), nn.ModuleDict({"a": nn.Linear(2, 2)})
        self.p, self.plain = nn.Parameter(torch.ones(2)), torch.zeros(2)
        self.register_buffer("kept", torch.ones(2))
        self.register_buffer("lost", torch.ones(2), persistent=False)

    def forward(self, x):
        return self.lin(x) + self.named["a"](x) + self.p + self.kept + self.lost + self.plain


STATE = ["kept", "lin.bias", "lin.weight", "lost", "named.a.bias", "named.a.weight", "p", "plain"]


@pytest.fixture
def graph():
    made = fx.symbolic_trace(function).graph
    for n in made.nodes:
        n.meta["was"] = n.name
    return made


def test_a_copy_of_a_graph(graph):
    other = copy.deepcopy(graph)
    assert str(other) == str(graph) and len(other.nodes) == 5 and other is not graph
    assert [n.meta for n in other.nodes] == [{"was": n} for n in ("x", "y", "relu", "add", "output")]
    assert all(n.graph is other for n in other.nodes)
    other.lint()
    half = fx.Graph(tracer_cls=fx.Tracer)
    half.placeholder("output")
    assert [n.name for n in copy.deepcopy(half).nodes] == ["output"] and copy.deepcopy(half)._tracer_cls is fx.Tracer


def test_a_graph_copied_into_another(graph):
    into, values = fx.Graph(), {}
    given = values[next(iter(graph.nodes))] = into.placeholder("q")
    result, output = into.graph_copy(graph, values, return_output_node=True)
    assert [(a.name, b.name) for a, b in values.items()] == [("x", "q"), ("y", "y"), ("relu", "relu"), ("add", "add")]
    assert output.graph is graph and [n.graph for n in (result[0], result[1]["k"])] == [into, into]
    assert values[list(graph.nodes)[2]].args == (given,) and len(into.nodes) == 4
    only_inputs = fx.Graph()
    only_inputs.placeholder("x")
    assert fx.Graph().graph_copy(only_inputs, {}) is None


def test_what_a_graph_module_takes_of_its_root():
    made = fx.symbolic_trace(Model())
    assert sorted(made.state_dict()) == STATE  # all of its buffers are saved
    assert [n for n, _ in made.named_modules()] == ["", "lin", "named", "named.a"] and type(made.named) is nn.Module
    again = copy.deepcopy(made)
    assert sorted(again.state_dict()) == STATE and again.lin is not made.lin
    assert torch.equal(again(torch.ones(2)), made(torch.ones(2)))
    root = Model().eval()
    root.meta = {"a": 1}
    taken = fx.GraphModule(root, made.graph)
    assert taken.training is False and taken.meta == {} and taken.lin is root.lin
    values = {t: nn.Linear(2, 2) if "lin" in t or "." in t else torch.ones(2) for t in graph_targets(made)}
    by_name = fx.GraphModule(values, made.graph, "Mine")
    assert type(by_name).__name__ == "Mine" and by_name.training and by_name.lin is values["lin"]
    assert sorted(by_name.state_dict()) == STATE
    for wrong, error, text in (
        (3, RuntimeError, "Unsupported type 3 passed for root!"),
        ({}, RuntimeError, "Node lin referenced target lin but that target was not provided in ``root``!"),
        (nn.Module(), AttributeError, "'Module' object has no attribute 'lin'"),
    ):
        with pytest.raises(error, match=text):
            fx.GraphModule(wrong, made.graph)


def graph_targets(module):
    return [n.target for n in module.graph.nodes if n.op in ("call_module", "get_attr")]


def test_modules_under_dotted_names():
    made = fx.symbolic_trace(Model())
    assert made.add_submodule("lin.deep.er", nn.ReLU()) and type(made.lin.deep) is nn.Module
    assert type(made.lin.deep.er) is nn.ReLU
    assert not made.add_submodule("p.x", nn.ReLU())  # a parameter is in the way
    assert made.add_submodule("lin", nn.Tanh()) and type(made.lin) is nn.Tanh
    with pytest.raises(KeyError, match="attribute 'kept' already exists"):
        made.add_submodule("kept", nn.ReLU())
    source, to, sharing = nn.Module(), nn.Module(), nn.Module()
    source.inner = sharing.inner = nn.Module()
    source.inner.tensor, source.inner.parameter = torch.ones(1), nn.Parameter(torch.ones(1))
    for name in ("inner.tensor", "inner.parameter"):
        graph_module._copy_attr(source, to, name)
        graph_module._copy_attr(source, sharing, name)
    assert [n for n, _ in to.named_buffers()] == ["inner.tensor"] and to.inner.parameter is source.inner.parameter
    assert not list(sharing.named_buffers())  # a module of both is left alone
    for name in ("no.tensor", "inner.no"):
        with pytest.raises(AttributeError, match="'Module' object has no attribute 'no'"):
            graph_module._copy_attr(source, to, name)


class Watched(fx.Interpreter):
    def run_node(self, n):
        self.seen = [*getattr(self, "seen", ()), (n.name, sorted(used.name for used in self.env))]
        return super().run_node(n)


def test_values_are_kept_as_long_as_they_are_read():
    module = fx.symbolic_trace(function)
    watched = Watched(module)
    assert watched.run(torch.ones(1))[0].item() == 3 and watched.seen[3:] == [
        ("add", ["relu", "y"]),
        ("output", ["add", "relu"]),
    ]
    keeping = Watched(module, garbage_collect_values=False)
    keeping.run(torch.ones(1), 4)
    assert keeping.seen[-1] == ("output", ["add", "relu", "x", "y"])
    begun = Watched(module)
    assert begun.run(initial_env={next(iter(module.graph.nodes)): torch.ones(1)})[0].item() == 3
    assert [name for name, _ in begun.seen] == ["y", "relu", "add", "output"]
    args = [torch.ones(1), 1]
    assert fx.Interpreter(module).boxed_run(args)[0].item() == 2 and args == []


def test_errors_say_which_step_it_was():
    module = fx.symbolic_trace(function)
    place = "\n\nWhile executing %relu : [num_users=2] = call_function[target=torch.relu](args = (%x,), kwargs = {})"
    with pytest.raises(TypeError) as caught:
        fx.Interpreter(module).run("a")
    assert place in str(caught.value)
    quiet = fx.Interpreter(module)
    quiet.extra_traceback = False
    with pytest.raises(TypeError) as caught:
        quiet.run("a")
    assert "While executing" not in str(caught.value)
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%relu : .* with meta={}"):
        ShapeProp(module).propagate("a")


def test_transformers_look_into_no_module():
    transformer = fx.Transformer(fx.symbolic_trace(Model()))
    assert isinstance(transformer.tracer, fx.Tracer) and transformer.tracer.is_leaf_module(nn.Sequential(), "")
    assert transformer.tracer.graph is transformer.new_graph
    assert "named_a = self.named.a(x)" in transformer.transform().code


def test_shapes_are_noted_of_tensors_only():
    module = fx.symbolic_trace(lambda x: (torch.relu(x), x.shape, 3))
    ShapeProp(module).propagate(torch.ones(3))
    noted = {n.name: n.meta for n in module.graph.nodes}
    assert noted["relu"]["tensor_meta"].shape == (3,) and noted["relu"]["type"] is torch.Tensor
    assert noted["getattr_1"]["type"] is torch.Size and "tensor_meta" not in noted["getattr_1"]
    assert noted["output"]["type"] is tuple and noted["output"]["tensor_meta"][2] == 3


def test_nodes_as_text(graph):
    x = next(iter(graph.nodes))
    assert node._format_arg([x, {"k": x}]) == "[%x, {k: %x}]"


def test_arguments_of_a_step_by_name():
    add = list(fx.symbolic_trace(lambda x: torch.add(x, 2)).graph.nodes)[1]
    types = (torch.Tensor, int)
    assert str(add.normalized_arguments(None, types)) == "ArgsKwargsPair(args=(x, 2), kwargs={'alpha': 1})"
    by_name = add.normalized_arguments(None, types, normalize_to_only_use_kwargs=True)
    assert by_name.args == () and list(by_name.kwargs) == ["input", "other", "alpha"]
    assert add.args[0].normalized_arguments(None) is None
    model = Model()
    call = next(n for n in fx.symbolic_trace(model).graph.nodes if n.op == "call_module")
    assert str(call.normalized_arguments(model)) == "ArgsKwargsPair(args=(x,), kwargs={})"


def test_functions_are_wrapped_at_the_top_of_a_module():
    space = {"fx": fx, "sorted": sorted}
    exec(compile("names = fx.wrap('len'), fx.wrap(sorted)", "module", "exec"), space)
    assert space["names"] == ("len", sorted)
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("len")
    for wrong in (3, typing):
        with pytest.raises(
            RuntimeError, match="Unsupported type for global function! Must be either a callable or string name"
        ):
            fx.wrap(wrong)


def test_tensors_and_modules_among_arguments():
    tracer = fx.Tracer()
    root = Model()
    tracer.trace(root)
    made = [tracer.create_arg(x).target for x in (root.plain, root.p, root.named["a"], torch.ones(1))]
    assert made == ["plain", "p", "named.a", "_tensor_constant0"] and tracer.root._tensor_constant0.tolist() == [1.0]
    with pytest.raises(NotImplementedError, match="argument of type: <class .*Linear'>"):
        tracer.create_arg(nn.Linear(1, 1))
    again = copy.deepcopy(tracer)
    assert type(again) is fx.Tracer and again.root is not tracer.root
    assert (
        str(again.graph) == str(tracer.graph).partition("\n    %plain_1")[0]
    )  # what stands after the output is not copied


def test_kinds_of_steps_and_their_targets():
    graph = fx.Graph()
    for op, target, text in (
        ("call_function", "a", "name = 'a'] target a has type str but a Callable is expected"),
        ("call_method", len, "target <built-in function len> has type len but a str is expected"),
    ):
        with pytest.raises(ValueError, match=text):
            graph.create_node(op, target)
    with pytest.raises(AssertionError, match="op 'nope' is not in _legal_ops"):
        graph.create_node("nope", "x")


def test_tracers_may_override_how_values_are_made():
    class Noting(fx.Tracer):
        made = ()

        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None):
            self.made = (*self.made, kind)
            return super().create_proxy(kind, target, args, kwargs, name, type_expr)

    tracer = Noting()
    tracer.trace(Model())
    assert tracer.made.count("get_attr") == 1 and tracer.made.count("call_module") == 2
    shaped = fx.Tracer(param_shapes_constant=True)

    class Shaped(nn.Module):
        def __init__(self):
            super().__init__()
            self.p = nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            return x + self.p.shape[1] if self.p.dim() == 2 else x

    graph = shaped.trace(Shaped())
    (add,) = graph.find_nodes(op="call_function", target=operator.add)
    assert add.args[1] == 3 and [n.name for n in graph.find_nodes(op="placeholder")] == ["x"]
    with pytest.raises(AssertionError, match="target must not be None for call_function op"):
        graph.find_nodes(op="call_function")


def test_copies_of_graph_modules_made_in_another_way():
    class Own(fx.GraphModule):
        def __init__(self, root, graph):
            super(fx.GraphModule, self).__init__()
            self.lin, self.training = root.lin, root.training
            self.graph = graph

    root = nn.Sequential()
    root.lin = nn.Linear(2, 2)
    made = Own(root.eval(), fx.symbolic_trace(root).graph)
    copied = copy.deepcopy(made)
    assert isinstance(copied, Own) and not copied.training and copied.lin is not made.lin and copied.code == made.code
