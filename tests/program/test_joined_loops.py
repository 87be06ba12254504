"""Two operators of float32 whose value between them nobody else takes are one loop: the same bits as one after the other."""

import itertools

import pytest
from recording import Recording

import shim_torch as torch

OPERATORS = ["add.Tensor", "sub.Tensor", "mul.Tensor"]


@pytest.mark.parametrize("n", [5, 3000, 100_000])
@pytest.mark.parametrize("first,then", itertools.product(OPERATORS, OPERATORS))
def test_both_places(first, then, n):
    a, b, c = (torch.randn(n) for _ in range(3))
    r = Recording(a, b, c)
    left = r.step(then, r.step(first, a, b), c)
    right = r.step(then, c, r.step(first, b, 0.3))
    r.returns(left, right, r.step(then, r.step(first, left, right), r.step(first, a, a)))
    assert len(r.lines) == 1
    assert all(map(torch.equal, r.run_steps(), r.run()))


def test_values_that_others_take():
    a, b = torch.randn(3000), torch.randn(3000)
    r = Recording(a, b)
    kept = r.step("add.Tensor", a, b)
    square = r.step("mul.Tensor", kept, kept)
    taken = r.step("sub.Tensor", b, a)
    r.step("add_.Tensor", a, taken)
    again = r.step("mul.Tensor", taken, r.step("mul.Tensor", a, 2.0))
    r.returns(kept, square, again)
    copies = [[a.clone(), b.clone()] for _ in range(2)]
    assert all(map(torch.equal, [*r.run_steps(copies[0]), *copies[0]], [*r.run(copies[1]), *copies[1]]))


def test_other_dtypes_stay_apart():
    for dtype in (torch.float64, torch.bfloat16, torch.int64):
        a, b = (torch.randn(100) * 5).to(dtype), (torch.randn(100) * 5).to(dtype)
        r = Recording(a, b)
        r.returns(r.step("mul.Tensor", r.step("add.Tensor", a, b), a))
        (wanted,), (got,) = r.run_steps(), r.run()
        torch.testing.assert_close(wanted, got, rtol=0.02 if dtype == torch.bfloat16 else 0, atol=0)
