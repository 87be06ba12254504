"""Equations that are one product of matrices, whatever the order of their names, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch

PRODUCTS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk->ki", (3, 4), (4, 5)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("i,i->", (4,), (4,)),
    ("ij,j->i", (3, 4), (4,)),
    ("abc,dc->dab", (2, 3, 4), (5, 4)),
    ("abc,dc->bda", (2, 3, 4), (5, 4)),
    ("ij,ij->i", (3, 4), (3, 4)),
    (" i j , jk -> ik", (3, 4), (4, 5)),
    ("ij,jk->ik", (0, 4), (4, 5)),
    ("ij,jk->ik", (3, 0), (0, 5)),
]


@pytest.mark.parametrize(("equation", "a", "b"), PRODUCTS)
def test_products(equation, a, b):
    r = np.random.default_rng(0)
    x, y = r.standard_normal(a), r.standard_normal(b)
    s, t = torch.from_numpy(x).requires_grad_(), torch.from_numpy(y).requires_grad_()
    for _ in range(2):  # the second time from what was kept
        found = torch.einsum(equation, s, t)
        assert np.allclose(found.detach().numpy(), np.einsum(equation.replace(" ", ""), x, y))
    assert not s.numel() or torch.autograd.gradcheck(lambda p, q: torch.einsum(equation, p, q), (s, t))


def test_a_result_in_another_order_is_not_turned():
    x, y = torch.ones(3, 4), torch.ones(4, 5)
    assert torch.einsum("ij,jk->ki", x, y).is_contiguous() and torch.einsum("ij,jk->ik", x, y).is_contiguous()


def test_sizes_that_broadcast_and_wrong_ones():
    x, y = torch.rand(3, 1), torch.rand(4, 5)
    assert torch.allclose(torch.einsum("ij,jk->ik", x, y), x * y.sum(0))
    with pytest.raises(RuntimeError, match="does not broadcast with previously seen size"):
        torch.einsum("ij,jk->ik", torch.rand(3, 2), y)
    with pytest.raises(RuntimeError, match="output subscript l does not appear"):
        torch.einsum("ij,jk->il", torch.rand(3, 4), y)
    with pytest.raises(RuntimeError, match="invalid subscript given at index 1"):
        torch.einsum("i1,jk->ik", torch.rand(3, 4), y)
