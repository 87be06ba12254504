"""The argument orders of PyTorch's first years: numbers before the tensors that they scale."""

import warnings

import pytest

import shim_torch as torch

ONES, TWO = torch.ones(2, 2), torch.full((2, 2), 2.0)
V = torch.ones(2)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: torch.add(ONES, 3, TWO), 7),
        (lambda: ONES.sub(3, TWO), -5),
        (lambda: torch.add(ONES, 2, 3), 7),
        (lambda: torch.add(ONES, torch.tensor(2), TWO), 5),
        (lambda: torch.add(2, 2, 3), 8),
        (lambda: torch.add(torch.tensor(True), torch.tensor(True), True), True),
        (lambda: ONES.clone().add_(3, TWO), 7),
        (lambda: torch.addcmul(ONES, 3, TWO, TWO), 13),
        (lambda: ONES.addcdiv(3, TWO, TWO), 4),
        (lambda: torch.addmm(2, ONES, 3, ONES, TWO), 14),
        (lambda: torch.addmm(2, ONES, ONES, TWO), 6),
        (lambda: ONES.addmm(2, 3, ONES, TWO), 14),
        (lambda: ONES.clone().addmm_(2, ONES, TWO), 6),
        (lambda: torch.addr(2, ONES, V, V), 3),
        (lambda: torch.addmv(2, V, ONES, V), 4),
        (lambda: torch.baddbmm(2, ONES[None], ONES[None], TWO[None]), 6),
        (lambda: torch.addbmm(2, ONES, 1, ONES[None], TWO[None]), 6),
        (lambda: torch.addcmul(ONES, 3, TWO, TWO, out=torch.empty(2, 2)), 13),
    ],
)
def test_values(call, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = call()
    assert (found == expected).all()


def test_what_is_no_such_order_still_fails():
    with pytest.raises(TypeError):
        torch.add(ONES, TWO, TWO)
    with pytest.raises(TypeError):
        torch.addmm(ONES, 2, ONES, ONES)
    with pytest.raises(RuntimeError):
        torch.ops.aten.addcmul(ONES, 3, TWO, TWO)
