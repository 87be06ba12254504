"""Reductions of segments and their gradients; mantissas and exponents. PyTorch's values."""

import math

import pytest

import shim_torch as torch

NAN = math.nan


@pytest.mark.parametrize(
    ("reduce", "initial", "result", "gradient"),
    [
        ("sum", 0, [1.0, NAN, 14.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("max", 0, [1.0, NAN, 5.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.5, 0.5]),
        ("max", None, [1.0, NAN, 5.0, -math.inf], [1.0, 1.0, 0.0, 0.0, 0.5, 0.5]),
        ("min", 0, [0.0, NAN, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
        ("min", None, [1.0, NAN, 4.0, math.inf], [1.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        ("prod", 0, [0.0, NAN, 0.0, 0.0], [0.0, 0.0, NAN, 0.0, 0.0, 0.0]),
        ("prod", None, [1.0, NAN, 100.0, 1.0], [1.0, 3.0, NAN, 25.0, 20.0, 20.0]),
    ],
)
def test_gradients_of_segments(reduce, initial, result, gradient):
    x = torch.tensor([1, NAN, 3, 4, 5, 5], dtype=torch.float64, requires_grad=True)
    made = torch._segment_reduce(x, reduce, lengths=torch.tensor([1, 2, 3, 0]), initial=initial)
    made.sum().backward()
    torch.testing.assert_close(made, torch.tensor(result, dtype=torch.float64), equal_nan=True)
    torch.testing.assert_close(x.grad, torch.tensor(gradient, dtype=torch.float64), equal_nan=True)


def test_products_with_a_zero_have_the_gradient_of_the_others():
    x = torch.tensor([2.0, 0.0, 3.0], requires_grad=True)
    torch._segment_reduce(x, "prod", lengths=torch.tensor([3])).sum().backward()
    assert x.grad.tolist() == [0.0, 6.0, 0.0]


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
@pytest.mark.parametrize(
    ("shape", "cuts", "result"),
    [((0,), (0,), (0,)), ((2, 0, 3), (2, 0), (2, 0, 3)), ((0, 4), (0, 2), (0, 2)), ((0, 2, 5), (0, 3), (0, 3, 5))],
)
def test_segments_of_no_rows_and_of_none(reduce, shape, cuts, result):
    x = torch.ones(shape, requires_grad=True)
    made = torch._segment_reduce(
        x, reduce, lengths=torch.zeros(cuts, dtype=torch.int64), axis=len(cuts) - 1, unsafe=True
    )
    made.sum().backward()
    assert made.shape == result and x.grad.shape == shape


def test_results_of_frexp_have_their_own_type():
    out = torch.frexp(torch.tensor([8.0]), out=(torch.zeros(1), torch.zeros(1, dtype=torch.int32)))
    assert type(out).__name__ == "frexp_out" and (out.mantissa.item(), out.exponent.item()) == (0.5, 4)
    with pytest.raises(RuntimeError, match="expects mantissa to have dtype float but got double"):
        torch.frexp(torch.ones(1), out=(torch.zeros(1).double(), torch.zeros(1, dtype=torch.int32)))
