"""Overloads of torch.ops.aten that follow from others: values, schemas, errors, what dispatch modes see."""

import pytest

import shim_torch as torch
from shim_torch._impl.table import aten as _aten
from shim_torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten


def test_schemas_are_those_of_the_table():
    for name, entries in _aten.table().items():
        if not _aten.complete(name) and not hasattr(aten, name):
            continue
        packet = getattr(aten, name)
        for schema, _ in entries:
            overload = schema.partition("(")[0].partition(".")[2] or "default"
            if hasattr(packet, overload):
                assert str(getattr(packet, overload)._schema) == f"aten::{schema}"


def test_out_of_a_copying_view_and_of_a_gradient():
    x = torch.arange(6.0).reshape(2, 3)
    out = torch.empty(0)
    assert aten.transpose_copy.int_out(x, 0, 1, out=out) is out
    assert out.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    g = torch.ones(2, 3)
    into = torch.empty(0)
    aten.tanh_backward.grad_input(g, x / 10, grad_input=into)
    assert torch.allclose(into, 1 - (x / 10) ** 2)


def test_out_of_lists():
    x = torch.arange(4.0)
    outs = [torch.empty(0), torch.empty(0)]
    assert aten._foreach_add.Scalar_out([x, x * 2], 1, out=outs) is None
    assert [o.tolist() for o in outs] == [[1, 2, 3, 4], [1, 3, 5, 7]]


def test_factories_write_into_out():
    out = torch.empty(0, dtype=torch.int32)
    aten.ones_like.out(torch.empty(2, 2), out=out)
    assert out.dtype == torch.int32 and out.tolist() == [[1, 1], [1, 1]]


def test_numbers_for_tensors():
    x = torch.tensor([5, 6, 7])
    assert aten.bitwise_and.Scalar_Tensor(3, x).tolist() == [1, 2, 3]
    assert aten.floor_divide.Scalar(x, 2).tolist() == [2, 3, 3]
    assert aten.where.ScalarOther(x > 5, x, 0).tolist() == [0, 6, 7]
    y = torch.tensor([1, 2, 3])
    assert aten.less_.Scalar(y, 2) is y and y.tolist() == [1, 0, 0]
    assert aten.add.Scalar(x, 1, 2).tolist() == [7, 8, 9]


def test_functional_of_a_writing_one():
    x = torch.zeros(3)
    (made,) = aten._foreach_zero([torch.ones(2)])
    assert made.tolist() == [0, 0]
    torch.manual_seed(0)
    drawn = aten.random(x)
    assert x.tolist() == [0, 0, 0] and drawn.shape == (3,)


def test_the_main_out_overload_has_the_main_name():
    x, y = torch.tensor([1.0, 4.0]), torch.tensor([3.0, 2.0])
    out = torch.empty(2)
    assert aten.max.out(x, y, out=out).tolist() == [3.0, 4.0]
    assert aten.clamp.out(x, 2, 3, out=out).tolist() == [2.0, 3.0]
    assert aten.clamp.Tensor_out(x, y, None, out=out).tolist() == [3.0, 4.0]
    assert aten.max.unary_out(x, out=torch.empty(())).item() == 4.0
    assert aten.mean.out(x.reshape(1, 2), [1], out=torch.empty(1)).tolist() == [2.5]
    assert torch.clamp(x, 2, 3, out=out).tolist() == [2.0, 3.0] and torch.max(x, y, out=out).tolist() == [3.0, 4.0]


def test_the_public_functions_do_not_know_them():
    aten.bitwise_left_shift.Scalar_Tensor(1, torch.tensor([2]))
    aten.slice_copy.Tensor_out
    with pytest.raises(TypeError):
        torch.slice_copy(torch.zeros(2), out=3)


class _Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_modes_see_them():
    x = torch.arange(4.0)
    with _Names() as mode:
        aten.add.out(x, x, out=torch.empty(4))
        aten.view_copy.out(x, [2, 2], out=torch.empty(2, 2))
        aten.eq.Scalar(x, 1)
        x > 2  # noqa: B015
    assert mode.seen[-4:] == ["aten.add.out", "aten.view_copy.out", "aten.eq.Scalar", "aten.gt.Scalar"] or (
        "aten.view_copy.out" in mode.seen and "aten.eq.Scalar" in mode.seen and mode.seen[-1] == "aten.gt.Scalar"
    )


def test_what_is_not_here_says_so():
    with pytest.raises(AttributeError, match="has no attribute 'no_such_operator'"):
        aten.no_such_operator
    with pytest.raises(AttributeError, match="has no overload name 'Nothing'"):
        aten.add.Nothing
    with pytest.raises(NotImplementedError, match="shim-torch has no kernel of this operator"):
        torch.q_scale(torch.ones(2))
