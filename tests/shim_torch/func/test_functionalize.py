"""``torch.func.functionalize``: programs without writes, of the same values."""

from __future__ import annotations

import pytest

import shim_torch as torch
from shim_torch.func import functionalize, grad, vmap
from shim_torch.fx.experimental.proxy_tensor import make_fx
from shim_torch.testing import assert_close


def through_a_view(x):
    y = x.view(-1)
    y.add_(1)
    return x * 2


def into_slices(x):
    y = torch.zeros(4)
    y[1:3].copy_(x.view(-1)[:2])
    y[0] = 3
    return y


def into_out(x):
    z = torch.empty(2, 2)
    torch.add(x, 1, out=z)
    z.relu_()
    return z


def through_pieces(x):
    first, second = x.split(1)
    first.add_(second)
    return first, x


def through_diagonals(x):
    x.diagonal().fill_(0)
    x.masked_fill_(x > 1, 5)
    return x


def through_unbound(x):
    x.unbind(0)[1].mul_(3)
    x.t().zero_()
    x.unsqueeze(0).transpose(0, 2).add_(2)
    return x.sum()


PROGRAMS = [through_a_view, into_slices, into_out, through_pieces, through_diagonals, through_unbound]


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_values_and_arguments_are_those_of_the_program(program, remove):
    x = torch.linspace(-1, 2, 4).reshape(2, 2)
    plain, given = x.clone(), x.clone()
    assert_close(functionalize(program, remove=remove)(given), program(plain))
    assert_close(given, plain)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_graphs_have_no_writes_but_the_last_to_arguments(program, remove):
    graph = make_fx(functionalize(program, remove=remove))(torch.linspace(-1, 2, 4).reshape(2, 2)).graph
    called = [n for n in graph.nodes if n.op == "call_function" and hasattr(n.target, "_schema")]
    for node in called:
        if node.target._schema.is_mutable:
            assert node.target is torch.ops.aten.copy_.default and node.args[0].op == "placeholder"
    if remove == "mutations_and_views":
        first = next(n for n in called if n.target is not torch.ops.aten.zeros.default)
        assert not first.target.is_view


def test_gradients_and_batches():
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    functionalize(lambda t: t.clone().mul_(t).sum())(x).backward()
    assert_close(x.grad, 2 * x.detach())
    assert_close(functionalize(grad(lambda t: t.clone().mul_(t).sum()))(x.detach()), 2 * x.detach())
    rows = torch.zeros(2, 3)
    assert_close(vmap(functionalize(lambda t: t.clone().add_(1)))(rows), rows + 1)


def test_what_changes_shapes_in_place_says_so():
    with pytest.raises(NotImplementedError, match="changes a tensor's shape in place"):
        functionalize(lambda t: t.t_())(torch.zeros(2, 3))
