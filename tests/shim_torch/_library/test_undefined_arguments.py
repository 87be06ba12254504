"""None in the place of a tensor: library operators get it, PyTorch's own refuse it."""

from __future__ import annotations

import pytest

from shim_torch import Tensor, library, ops, tensor, zeros

seen: list[object] = []


@library.custom_op("tst_undefined::scaled", mutates_args=())
def scaled(x: Tensor, by: Tensor, times: int) -> Tensor:
    seen.append(by)
    return x * times if by is None else x * by * times


@library.custom_op("tst_undefined::write", mutates_args={"out"})
def write(x: Tensor, by: Tensor, out: Tensor) -> None:
    seen.append(by)
    out.copy_(x if by is None else x * by)


def test_a_custom_operator_gets_none():
    seen.clear()
    x = tensor([1.0, 2.0])
    assert scaled(x, None, 3).tolist() == [3, 6]
    assert ops.tst_undefined.scaled(x, tensor([2.0, 2.0]), 3).tolist() == [6, 12]
    assert ops.tst_undefined.scaled.default(x, None, times=2).tolist() == [2, 4]
    assert [by is None for by in seen] == [True, False, True]


def test_gradients_pass_over_it():
    x = tensor([1.0, 2.0], requires_grad=True)

    @library.custom_op("tst_undefined::graded", mutates_args=())
    def graded(x: Tensor, by: Tensor) -> Tensor:
        return x * 2

    graded.register_autograd(lambda ctx, g: (g * 2, None))
    graded(x, None).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_an_operator_that_writes_gets_none():
    out = zeros(2)
    write(tensor([1.0, 2.0]), None, out)
    assert out.tolist() == [1, 2]


def test_an_operator_of_a_library_gets_none():
    with library._scoped_library("tst_undefined_lib", "DEF") as lib:
        lib.define("f(Tensor x, Tensor y) -> Tensor")
        lib.impl("f", lambda x, y: x + (1 if y is None else 0), "CPU")
        assert ops.tst_undefined_lib.f(tensor([1]), None).tolist() == [2]


def test_pytorch_s_operators_refuse_it():
    text = r"Expected a proper Tensor but got None \(or an undefined Tensor in C\+\+\) for argument #{} '{}'"
    with pytest.raises(RuntimeError, match=text.format(1, "mat2")):
        ops.aten.mm.default(zeros(2, 2), None)
    with pytest.raises(RuntimeError, match=text.format(0, "self")):
        ops.aten.relu.default(None)
