"""Tracing, the code of graphs (the texts are PyTorch's), and graphs that are changed, run, copied and pickled."""

from __future__ import annotations

import copy
import operator
import pickle

import pytest

import shim_torch as torch
import shim_torch.nn.functional as F
from compat import torch_proxy
from shim_torch import fx, nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 3)
        self.p = nn.Parameter(torch.ones(3))
        self.seq = nn.Sequential(nn.ReLU(), nn.Linear(3, 3))

    def forward(self, x, y=1, *, z=None):
        a = self.lin(x) + self.p
        b = F.softmax(self.seq(a), dim=-1).relu()
        c = torch.cat([a, b], dim=1)[:, 0:2]
        u, v = c.chunk(2, dim=1)
        return {"k": u * 2, "m": (v, -v, x.shape[0], 2 - v)}, a.sum(dim=[0, 1])


CODE = """


def forward(self, x, y = 1, z = None):
    lin = self.lin(x)
    p = self.p
    add = lin + p;  lin = p = None
    seq_0 = getattr(self.seq, "0")(add)
    seq_1 = getattr(self.seq, "1")(seq_0);  seq_0 = None
    softmax = torch.nn.functional.softmax(seq_1, dim = -1, _stacklevel = 3, dtype = None);  seq_1 = None
    relu = softmax.relu();  softmax = None
    cat = torch.cat([add, relu], dim = 1);  relu = None
    getitem = cat[(slice(None, None, None), slice(0, 2, None))];  cat = None
    chunk = getitem.chunk(2, dim = 1);  getitem = None
    getitem_1 = chunk[0]
    getitem_2 = chunk[1];  chunk = None
    mul = getitem_1 * 2;  getitem_1 = None
    neg = -getitem_2
    getattr_1 = x.shape;  x = None
    getitem_3 = getattr_1[0];  getattr_1 = None
    sub = 2 - getitem_2
    sum_1 = add.sum(dim = [0, 1]);  add = None
    return ({'k': mul, 'm': (getitem_2, neg, getitem_3, sub)}, sum_1)
    """

X = torch.arange(4.0).reshape(2, 2)


@pytest.fixture
def traced():
    torch.manual_seed(0)
    model = Model()
    return model, fx.symbolic_trace(model)


def _same(a, b):
    assert torch.equal(a[1], b[1]) and torch.equal(a[0]["k"], b[0]["k"])
    assert a[0]["m"][2] == b[0]["m"][2] == 2


def test_code_and_values(traced):
    model, made = traced
    assert made.code == CODE
    _same(made(X), model(X))
    made.graph.lint()
    assert set(made.state_dict()) == set(model.state_dict()) and made.lin is model.lin
    assert str(made.graph).splitlines()[:2] == ["graph():", "    %x : [num_users=2] = placeholder[target=x]"]
    assert "%add : [num_users=3] = call_function[target=operator.add](args = (%lin, %p), kwargs = {})" in str(
        made.graph
    )


def _pickled(module):
    with torch_proxy():
        return pickle.loads(pickle.dumps(module))


@pytest.mark.parametrize("again", [copy.deepcopy, copy.copy, _pickled])
def test_copies(traced, again):
    model, made = traced
    other = again(made)
    assert other.code == CODE and type(other).__name__ == "Model"
    other.graph.lint()
    _same(other(X), model(X))


def test_interpreter_transformer_and_gradients(traced):
    model, made = traced
    _same(fx.Interpreter(made).run(X), model(X))
    _same(fx.Transformer(made).transform()(X), model(X))
    made(X)[1].backward()
    assert made.lin.weight.grad.tolist() == [[2.0, 4.0]] * 3

    class Negated(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(operator.sub if target is operator.add else target, args, kwargs)

    assert "sub = lin - p" in Negated(made).transform().code
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x, but one was not passed in!"):
        fx.Interpreter(made).run()


def test_changes(traced):
    model, made = traced
    for node in made.graph.nodes:
        if node.op == "call_function" and node.target is operator.neg:
            with made.graph.inserting_after(node):
                new = made.graph.call_function(torch.abs, node.args)
            node.replace_all_uses_with(new)
            made.graph.erase_node(node)
    chunk = next(n for n in made.graph.nodes if n.target == "chunk")
    with pytest.raises(RuntimeError, match="Tried to erase Node chunk but it still had 2 users"):
        made.graph.erase_node(chunk)
    with made.graph.inserting_before(chunk):
        made.graph.call_function(torch.abs, (chunk.args[0],))
    made.graph.lint()
    assert made.graph.eliminate_dead_code() and not made.graph.eliminate_dead_code()
    made.recompile()
    assert "abs_1 = torch.abs(getitem_2)" in made.code and "neg" not in made.code
    assert torch.equal(made(X)[0]["m"][1], model(X)[0]["m"][0].abs())
    made.add_submodule("extra.inner", nn.ReLU())
    made.delete_all_unused_submodules()
    assert not hasattr(made, "extra") and hasattr(made, "seq")
    with pytest.raises(TypeError, match="does not support mutation"):
        next(n for n in made.graph.nodes if n.target is torch.cat).args[0].append(1)


def test_functions_of_torch_are_single_steps():
    def f(a, b):
        q = torch.einsum("ij,jk->ik", a, b)
        w, h = a.shape
        return (
            F.layer_norm(q, (w,)),
            F.cross_entropy(a, b),
            F.dropout(a, 0.1, training=False),
            a // b,
            torch.zeros(w, h),
        )

    made = fx.symbolic_trace(f)
    lines = made.code.splitlines()
    assert "    einsum = torch.functional.einsum('ij,jk->ik', a, b)" in lines
    assert any(
        "torch.nn.functional.layer_norm(einsum, (getitem,), weight = None, bias = None, eps = 1e-05)" in x
        for x in lines
    )
    assert any("torch.nn.functional.dropout(a, p = 0.1, training = False, inplace = False)" in x for x in lines)
    a, b = X, torch.ones(2, 2)
    assert all(torch.equal(x, y) for x, y in zip(made(a, b), f(a, b), strict=True))
    assert F.layer_norm.__name__ == "layer_norm" and not hasattr(F.dropout, "__fx_leaf__")


def test_rest_arguments_and_fixed_ones():
    made = fx.symbolic_trace(lambda x, *a, **k: x + a[0] + k["b"])
    assert "def forward(self, x, *a, **k):\n    _a = a\n    _k = k\n" in made.code
    assert made(X, X, b=X).tolist() == (3 * X).tolist()
    fixed = fx.symbolic_trace(lambda x, b=True: x + 1 if b else x, concrete_args={"b": False})
    assert "b_1 == False" in fixed.code
    assert torch.equal(fixed(X, False), X)
    with pytest.raises(AssertionError, match="b has been specialized to have value False but got another value"):
        fixed(X, True)


@pytest.mark.parametrize(
    "function, error, text",
    [
        (lambda x: 1 if x > 0 else 2, fx.proxy.TraceError, "cannot be used as inputs to control flow"),
        (lambda x: list(x), fx.proxy.TraceError, "Proxy object cannot be iterated"),
        (lambda x: len(x), RuntimeError, "'len' is not supported in symbolic tracing by default"),
    ],
)
def test_what_cannot_be_traced(function, error, text):
    with pytest.raises(error, match=text):
        fx.symbolic_trace(function)
    assert not fx._symbolic_trace.is_fx_tracing()


def test_graphs_by_hand():
    graph = fx.Graph()
    total = (fx.Proxy(graph.placeholder("a")) + 1).sum(dim=0)
    graph.output(total.node)
    made = fx.GraphModule({}, graph)
    assert made(torch.ones(2)).item() == 4
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_module("inner.0", (graph.call_function(torch.add, (x, graph.get_attr("w"))),)))
    made = fx.GraphModule({"inner.0": nn.ReLU(), "w": torch.tensor([-2.0, 1.0])}, graph)
    assert made(torch.ones(2)).tolist() == [0, 2] and [n for n, _ in made.named_buffers()] == ["w"]
    with pytest.raises(RuntimeError, match="referenced target w but that target was not provided"):
        fx.GraphModule({"inner.0": nn.ReLU()}, graph)
    other = fx.Graph()
    other.call_function(torch.relu, (x,))
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        other.lint()


def test_leaves_and_shapes():
    class Deep(fx.Tracer):
        def is_leaf_module(self, m, name):
            return False

    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    graph = Deep().trace(model)
    assert [n.op for n in graph.nodes] == [
        "placeholder",
        "get_attr",
        "get_attr",
        "call_function",
        "call_function",
        "output",
    ]
    made = fx.GraphModule(model, graph)
    assert torch.equal(made(X), model(X))
    from shim_torch.fx.passes.shape_prop import ShapeProp

    ShapeProp(made).propagate(X)
    assert [tuple(n.meta["tensor_meta"].shape) for n in graph.nodes][-1] == (2, 3)


def test_functions_of_torch_outside_of_tracing():
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    a, b = (fx.Proxy(graph.placeholder(n), tracer) for n in "ab")
    x, y = torch.broadcast_tensors(a, b)[0], torch.einsum("i,i->", a, b)
    graph.output((x.node, torch.split(y, 1).node, torch.tensordot(a, b, dims=1).node))
    with pytest.raises(RuntimeError, match="Found multiple different tracers"):
        torch.broadcast_tensors(a, fx.Proxy(b.node))
    text = fx.GraphModule({}, graph).code
    assert "torch.functional.broadcast_tensors(a, b)" in text and "torch.functional.einsum('i,i->', a, b)" in text
    assert "torch.functional.split(einsum, 1, dim = 0)" in text
    assert "torch.functional.tensordot(a, b, dims = 1, out = None)" in text


def test_subclasses_see_functions_written_with_others():
    seen = []

    class Own(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    made = torch.einsum("i,i->", torch.ones(2).as_subclass(Own), torch.ones(2))
    assert type(made) is Own and seen[:1] == ["einsum"]


def test_subclasses_of_graph_module():
    class Doubled(fx.GraphModule):
        def __init__(self, times):
            graph = fx.Graph()
            graph.output((fx.Proxy(graph.placeholder("x")) * times).node)
            super().__init__({}, graph)
            self.times = times

    a, b = Doubled(2), Doubled(3)
    assert isinstance(a, Doubled) and a(torch.ones(1)).item() == 2 and b(torch.ones(1)).item() == 3
    assert isinstance(copy.deepcopy(a), fx.GraphModule) and copy.deepcopy(a).times == 2


def test_operands_of_einsum_in_a_list():
    made = fx.symbolic_trace(lambda a, b: torch.einsum("i,i->", (a, b)))
    assert "torch.functional.einsum('i,i->', a, b)" in made.code
    assert made(torch.ones(3), torch.ones(3)).item() == 3
    assert torch.einsum("i,i->", [torch.ones(3), torch.ones(3)]).item() == 3


def test_what_copies_of_a_graph_module_keep():
    from shim_torch.fx.graph_module import _USER_PRESERVED_ATTRIBUTES_KEY, _CodeOnlyModule, _copy_attr

    made = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    made.extra = nn.Linear(2, 3)
    made.meta[_USER_PRESERVED_ATTRIBUTES_KEY] = {"note": [1]}
    told = []
    made._deepcopy_hooks = [told.append]
    copied = copy.deepcopy(made)
    assert copied.note == [1] and told == [copied] and copied.extra.weight is not made.extra.weight
    again = torch.fx.GraphModule(_CodeOnlyModule(copy.copy(vars(made))), made.graph)
    assert again.extra is made.extra
    to = nn.Module()
    _copy_attr(made, to, "0.weight")
    assert getattr(to, "0").weight is getattr(made, "0").weight and not hasattr(getattr(to, "0"), "bias")


def test_what_is_no_python_function_is_not_traced():
    with pytest.raises(AssertionError, match="Expected FunctionType, got <class"):
        torch.fx.symbolic_trace(torch.add)
