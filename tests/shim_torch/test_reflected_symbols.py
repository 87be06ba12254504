"""``1 / x``, ``a + x`` called from the right: PyTorch's rounding, graph and strides."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import shim_torch as torch


def test_a_number_over_a_tensor_is_its_reciprocal_times_the_number():
    x = torch.tensor([3.0, 5.5, 0.7], dtype=torch.bfloat16)
    inverse = torch.reciprocal(x)
    assert torch.equal(10 / x, inverse * 10)
    assert torch.equal(10 / x, torch.tensor([3.34375, 1.8125, 14.3125], dtype=torch.bfloat16))


def test_its_graph_is_a_product():
    x = torch.tensor([2.0, 4.0], requires_grad=True)
    y = 3 / x
    assert y.grad_fn.name() == "MulBackward0"
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [-0.75, -0.1875])


def test_integers_and_bools_divide_as_floats():
    assert torch.equal(1 / torch.tensor([True, False]), torch.tensor([1.0, float("inf")]))
    assert torch.equal(6 / torch.tensor([2, 4]), torch.tensor([3.0, 1.5]))


@pytest.mark.parametrize("name", ["add", "mul", "and_", "or_", "xor"])
def test_strides_follow_the_tensor_that_is_called(name):
    left = torch.ones(3, 4, 2, dtype=torch.int64)
    right = torch.ones(3, 2, 4, dtype=torch.int64).transpose(1, 2)
    method = getattr(torch.Tensor, f"__r{name.strip('_')}__")
    assert method(right, left).stride() == (8, 1, 4)
    assert getattr(operator, name)(left, right).stride() == (8, 2, 1)


def test_differences_and_powers_keep_their_order():
    x = torch.tensor([1.0, 2.0])
    assert (5 - x).tolist() == [4.0, 3.0]
    assert (2**x).tolist() == [2.0, 4.0]
    assert (5 % x).tolist() == [0.0, 1.0]
    assert (5 // torch.tensor([2.0, 3.0])).tolist() == [2.0, 1.0]


def test_what_is_no_number_is_pythons_error():
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for /: 'NoneType' and 'Tensor'"):
        None / torch.ones(2)
