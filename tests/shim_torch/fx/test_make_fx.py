"""Graphs of the operators below autograd; the codes are PyTorch's."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.fx.experimental.proxy_tensor import make_fx


def _code(f, *args, **options):
    return make_fx(f, **options)(*args).code.strip()


def _expected(text):
    return text.strip("\n").rstrip()


def test_operators_of_modules_and_functions():
    x, y = torch.randn(2, 3), torch.randn(4, 3)

    def f(x, y):
        return torch.nn.functional.linear(x, y).relu(), x

    graph = make_fx(f)(x, y)
    assert graph.code.strip() == _expected("""
def forward(self, x_1, y_1):
    t = torch.ops.aten.t.default(y_1);  y_1 = None
    mm = torch.ops.aten.mm.default(x_1, t);  t = None
    relu = torch.ops.aten.relu.default(mm);  mm = None
    return (relu, x_1)
""")
    assert graph(torch.ones(1, 3), torch.ones(2, 3))[0].tolist() == [[3.0, 3.0]]
    assert all(("val" in n.meta) and ("tensor_meta" in n.meta) for n in graph.graph.nodes if n.op != "output")
    layer = torch.nn.Linear(3, 4)
    assert _code(layer, x) == _expected("""
def forward(self, arg0_1):
    _param_constant0 = self._param_constant0
    t = torch.ops.aten.t.default(_param_constant0);  _param_constant0 = None
    _param_constant1 = self._param_constant1
    addmm = torch.ops.aten.addmm.default(_param_constant1, arg0_1, t);  _param_constant1 = arg0_1 = t = None
    return addmm
""")
    assert torch.equal(make_fx(layer)(x)(y), layer(y))


def test_backwards_are_part():
    def f(x):
        return torch.autograd.grad(x.sin().sum(), x)[0]

    x = torch.randn(3, requires_grad=True)
    graph = make_fx(f)(x)
    names = [n.name for n in graph.graph.nodes]
    assert names == ["x_1", "sin", "sum_1", "ones_like", "expand", "cos", "mul", "output"]
    at = torch.randn(3, requires_grad=True)
    assert torch.allclose(graph(at), at.detach().cos())


def test_writes_views_and_several_results():
    def f(x):
        y = x[0]
        y.mul_(2)
        return x

    assert _code(f, torch.randn(2, 2)) == _expected("""
def forward(self, x_1):
    select = torch.ops.aten.select.int(x_1, 0, 0)
    mul_ = torch.ops.aten.mul_.Tensor(select, 2);  select = mul_ = None
    return x_1
""")
    assert _code(lambda x: x.max(0), torch.randn(2, 3)) == _expected("""
def forward(self, x_1):
    max_1 = torch.ops.aten.max.dim(x_1, 0);  x_1 = None
    getitem = max_1[0]
    getitem_1 = max_1[1];  max_1 = None
    return (getitem, getitem_1)
""")


def test_constants():
    c = torch.randn(2)
    graph = make_fx(lambda x: x + c)(torch.ones(2))
    assert graph.code.strip() == _expected("""
def forward(self, x_1):
    _tensor_constant0 = self._tensor_constant0
    add = torch.ops.aten.add.Tensor(x_1, _tensor_constant0);  x_1 = _tensor_constant0 = None
    return add
""")
    assert graph._tensor_constant0 is c
    assert "lift_fresh_copy = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0)" in _code(
        lambda x: x + torch.tensor(2.0), torch.ones(2)
    )


def test_nested_arguments():
    graph = make_fx(lambda xs: xs[0] + xs[1]["a"])([torch.ones(2), {"a": torch.ones(2)}])
    assert graph.code.strip() == _expected("""
def forward(self, xs):
    xs_1, xs_2, = fx_pytree.tree_flatten_spec([xs], self._in_spec)
    add = torch.ops.aten.add.Tensor(xs_1, xs_2);  xs_1 = xs_2 = None
    return pytree.tree_unflatten([add], self._out_spec)
""")
    assert graph([torch.ones(2), {"a": 2 * torch.ones(2)}]).tolist() == [3.0, 3.0]


def test_values_are_not_known():
    text = "trying to get value out of a tracing tensor with aten._local_scalar_dense.default"
    for f in (lambda x: x.sum().item(), lambda x: x if x.sum() > 0 else -x):
        with pytest.raises(RuntimeError, match=text):
            make_fx(f)(torch.randn(2))
    with pytest.raises(NotImplementedError, match="symbolic"):
        make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(1))


def test_decompositions_fakes_and_batches():
    table = {torch.ops.aten.silu.default: lambda x: x * torch.sigmoid(x)}
    code = _code(torch.nn.functional.silu, torch.randn(3), decomposition_table=table)
    assert "aten.sigmoid.default" in code and "silu" not in code
    code = _code(lambda x: torch.zeros(2) + x, torch.randn(2), tracing_mode="fake")
    assert "torch.ops.aten.zeros.default([2]" in code and "return add" in code
    batched = make_fx(torch.func.vmap(lambda x: x.sin().sum()))(torch.randn(2, 3))
    x = torch.randn(2, 3)
    assert torch.allclose(batched(x), x.sin().sum(1)) and "constant" not in batched.code


def test_properties_are_the_operators_that_pytorch_records():
    recorded = {
        "T": (lambda x: x.T, "permute = torch.ops.aten.permute.default(x_1, [1, 0])"),
        "H": (lambda x: x.H, "transpose = torch.ops.aten.transpose.int(x_1, -2, -1)"),
        "data": (lambda x: x.data, "detach = torch.ops.aten.detach.default(x_1)"),
    }
    for function, line in recorded.values():
        traced = make_fx(function)(torch.ones(2, 3))
        assert line in traced.code
        assert torch.equal(traced(torch.zeros(2, 3)), function(torch.zeros(2, 3)))
