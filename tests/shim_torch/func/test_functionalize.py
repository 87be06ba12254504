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


def turned(x):
    y = x + 0
    y.t_()
    return y.add_(1)


def turned_twice_over_parts(x):
    y = x + 0
    y.transpose_(0, 1).swapdims_(1, 0).unsqueeze_(0).squeeze_(0)
    z = y[0]
    z.mul_(2)
    return y, z


def strided(x):
    y = x + 0
    y.as_strided_((2, 2), (1, 2), 1)
    y.add_(1)
    return y


def resized(x):
    y = x + 0
    y.resize_(3, 2).add_(1)
    return y


def made_smaller(x):
    y = x + 0
    z = y[0]
    y.resize_(2)
    y.add_(1)
    return y, z


def set_to_another(x):
    y, z = x + 0, torch.ones(4)
    y.set_(z)
    y.add_(1)
    return y, z


@pytest.mark.parametrize("f", [turned, turned_twice_over_parts, strided, resized, made_smaller, set_to_another])
@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_what_changes_shapes_in_place(f, remove):
    x = torch.arange(6.0).view(2, 3)
    expected = f(x.clone())
    found = functionalize(f, remove=remove)(x)
    assert_close(found, expected)
    assert x.flatten().tolist() == [0, 1, 2, 3, 4, 5]
    code = make_fx(functionalize(f, remove=remove))(x).code
    assert "add_." not in code and "t_." not in code and "mul_." not in code


def test_an_argument_keeps_its_new_shape():
    x = torch.arange(6.0).view(2, 3)
    functionalize(lambda t: t.t_().add_(1))(x)
    assert x.tolist() == [[1, 4], [2, 5], [3, 6]]


def test_resizing_to_more_elements():
    def grown(x):
        y = x + 0
        return y.resize_(8).fill_(1)

    def grown_view(x):
        return (x + 0).view(-1).resize_(10)

    x = torch.arange(6.0).view(2, 3)
    assert functionalize(grown)(x).tolist() == [1] * 8
    with pytest.raises(
        RuntimeError,
        match="Attempted to resize a view tensor to a larger size. This is not allowed in the functionalization",
    ):
        functionalize(grown_view)(x)


def test_custom_operators_that_write_are_refused():
    lib = torch.library.Library("functional_writes", "DEF")
    lib.define("inc(Tensor(a!) x) -> ()")
    lib.define("pure(Tensor x) -> Tensor")
    lib.impl("inc", lambda x: x.add_(1) and None, "CPU")
    lib.impl("pure", lambda x: x * 2, "CPU")
    with pytest.raises(
        RuntimeError,
        match=r"Found a custom \(non-ATen\) operator whose output has alias annotations: functional_writes::inc",
    ):
        functionalize(torch.ops.functional_writes.inc)(torch.ones(1))
    assert functionalize(torch.ops.functional_writes.pure)(torch.ones(1)).item() == 2
    lib._destroy()


@pytest.mark.parametrize("f", [
    lambda x: x[torch.tensor([1, 1, 2])],
    lambda x: x[:, torch.tensor([1, 0])],
    lambda x: x[x.detach() > 0],
    lambda x: x.index_put((torch.tensor([1]),), torch.ones(3)),
    lambda x: torch.stack([x, x * 2]),
    lambda x: torch.layer_norm(x, [3]),
    lambda x: torch.trace(x),
    lambda x: torch.block_diag(x, x),
    lambda x: x.norm(2, dim=1),
])  # fmt: skip
def test_gradients_of_what_is_made_of_others(f):
    x = torch.randn(4, 3, requires_grad=True)
    found = functionalize(f)(x)
    assert_close(found, f(x))
    (mine,) = torch.autograd.grad((found * found).sum(), x)
    (expected,) = torch.autograd.grad((f(x) * f(x)).sum(), x)
    assert_close(mine, expected)
