"""Graphs printed to be read: types of steps, the tensors that a trace saw, as PyTorch 2.13 prints them."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch import fx, nn
from shim_torch.fx.experimental.proxy_tensor import make_fx


class Typed(nn.Module):
    def forward(self, x: torch.Tensor, flag: bool = True, o: "torch.Tensor" = None):  # noqa: UP037
        return abs(x) + (-x)


def test_types_of_steps():
    Typed.forward.__annotations__.update(x=torch.Tensor, flag=bool, o="torch.Tensor")
    g = fx.symbolic_trace(Typed())
    assert str(g.graph) == (
        "graph():\n"
        "    %x : torch.Tensor [num_users=2] = placeholder[target=x]\n"
        "    %flag : bool [num_users=0] = placeholder[target=flag](default=True)\n"
        "    %o : 'torch.Tensor' [num_users=0] = placeholder[target=o](default=None)\n"
        "    %abs_1 : [num_users=1] = call_function[target=operator.abs](args = (%x,), kwargs = {})\n"
        "    %neg : [num_users=1] = call_function[target=operator.neg](args = (%x,), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%abs_1, %neg), kwargs = {})\n"
        "    return add"
    )
    assert "    abs_1 = _operator_abs(x)\n    neg = -x;  x = None\n" in g.code
    assert g(torch.tensor([-1.0])).tolist() == [2.0]


def test_a_type_is_written_after_the_name_of_a_step():
    g = fx.Graph()
    a = g.placeholder("a", type_expr=int)
    g.output(g.call_function(torch.sin, (a,), type_expr=torch.Tensor), type_expr=torch.Tensor)
    assert g.python_code("self").src.strip("\n ") == (
        "def forward(self, a : int) -> torch.Tensor:\n    sin : torch.Tensor = torch.sin(a);  a = None\n    return sin"
    )


def test_layers_have_no_types_of_ours():
    g = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2)))
    assert g.print_readable(print_output=False) == (
        "class Sequential(torch.nn.Module):\n"
        "    def forward(self, input):\n"
        "        input_1 = input\n"
        "\n"
        "        # No stacktrace found for following nodes\n"
        '        _0 = getattr(self, "0")(input_1);  input_1 = None\n'
        "        return _0\n"
    )


def test_what_a_trace_saw(capsys):
    g = make_fx(lambda x, i: (x.t(), i.bool().sum(), torch.max(x, 0)[0]))(
        torch.ones(2, 3), torch.ones(2, dtype=torch.int32)
    )
    text = g.print_readable(include_stride=True, include_device=True)
    assert capsys.readouterr().out == f"{text}\n"
    assert text.splitlines()[1:4] == [
        '    def forward(self, x_1: "f32[2, 3][3, 1]cpu", i_1: "i32[2][1]cpu"):',
        "        # No stacktrace found for following nodes",
        '        t: "f32[3, 2][1, 3]cpu" = torch.ops.aten.t.default(x_1)',
    ]
    shown = g.print_readable(print_output=False)
    assert (
        '        _to_copy: "b8[2]" = torch.ops.aten._to_copy.default(i_1, dtype = torch.bool);  i_1 = None\n' in shown
    )
    assert "        max_1 = torch.ops.aten.max.dim(x_1, 0);  x_1 = None\n" in shown
    assert '        getitem: "f32[3]" = max_1[0]\n' in shown and '"f32' not in g.code


def test_nested_inputs_of_a_trace():
    g = make_fx(lambda p, x: x * p["p"])({"p": torch.ones(2)}, torch.ones(2))
    assert g.print_readable(print_output=False) == (
        "class <lambda>(torch.nn.Module):\n"
        "    def forward(self, p, x):\n"
        '        p_1: "f32[2]"; x_1: "f32[2]"; \n'
        "\n"
        "        p_1, x_1, = fx_pytree.tree_flatten_spec([p, x], self._in_spec)\n"
        "        # No stacktrace found for following nodes\n"
        '        mul: "f32[2]" = torch.ops.aten.mul.Tensor(x_1, p_1);  x_1 = p_1 = None\n'
        "        return pytree.tree_unflatten([mul], self._out_spec)\n"
    )


def test_what_is_not_there_is_refused():
    with pytest.raises(NotImplementedError, match="only plain text"):
        fx.symbolic_trace(lambda x: x + 1).print_readable(print_output=False, colored=True)


class Rectified(nn.Module):
    def __init__(self):
        super().__init__()
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(x)


def test_the_table_is_laid_out_as_tabulate_does(capsys):
    fx.symbolic_trace(Rectified()).graph.print_tabular()
    assert capsys.readouterr().out == (
        "opcode       name    target    args     kwargs\n"
        "-----------  ------  --------  -------  --------\n"
        "placeholder  x       x         ()       {}\n"
        "call_module  relu    relu      (x,)     {}\n"
        "output       output  output    (relu,)  {}\n"
    )
