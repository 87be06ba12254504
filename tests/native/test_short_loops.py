"""Operators of several tensors whose innermost loops are short: many of them are worked on at a time. Against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch

SHAPES = [
    ((40, 5), (40, 1)),
    ((40, 5), (1, 5)),
    ((7, 1, 6, 1), (1, 9, 1, 11)),
    ((1, 64), (700, 1)),
    ((3, 200, 3), (3, 1, 3)),
    ((2, 9, 1), (4, 1, 1, 7)),
    ((6, 5, 4), ()),
    ((90000, 3), (90000, 1)),
]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "float32", "float64", "complex128", "bool"])
@pytest.mark.parametrize("left, right", SHAPES)
def test_two_that_are_broadcast(dtype, left, right):
    if len(left) == 2 and left[0] > 10000 and dtype != "float32":
        return
    r = np.random.default_rng(0)
    a, b = (r.integers(0, 9, s).astype(dtype) for s in (left, right))
    x, y = torch.from_numpy(np.asarray(a)), torch.from_numpy(np.asarray(b))
    for f, g in ((torch.add, np.add), (torch.eq, np.equal), (torch.mul, np.multiply)):
        assert np.array_equal(f(x, y).numpy(), g(a, b))
    turned = torch.from_numpy(np.asfortranarray(a))
    assert np.array_equal((turned * y).numpy(), a * b)
    wide = np.broadcast_shapes(left, right)
    into = torch.from_numpy(np.broadcast_to(a, wide).copy())
    into.add_(y) if dtype != "bool" else into.logical_xor_(y)
    assert np.array_equal(into.numpy(), a + b if dtype != "bool" else np.broadcast_to(a ^ b, wide))
    every_second = torch.zeros(wide[:-1] + (2 * wide[-1],), dtype=x.dtype)[..., ::2]
    assert np.array_equal(every_second.copy_(y).numpy(), np.broadcast_to(b, wide))
    assert np.array_equal(torch.mul(x, y, out=every_second).numpy(), a * b)


def test_three_that_are_broadcast():
    r = np.random.default_rng(1)
    c, a, b = r.random((30, 1, 5)) > 0.5, r.random((1, 12, 5)), r.random((30, 12, 1))
    c_, a_, b_ = map(torch.from_numpy, (c, a, b))
    assert np.array_equal(torch.where(c_, a_, b_).numpy(), np.where(c, a, b))
    assert np.allclose(torch.addcmul(a_, b_, b_[:1], value=2).numpy(), a + 2 * b * b[:1])
    assert np.array_equal(torch.clamp(a_, b_ * 0.5, b_).numpy(), np.clip(a, b * 0.5, b))
    assert np.array_equal(torch.lerp(a_.expand(30, 12, 5), b_, 0.5).shape, (30, 12, 5))


def test_products_of_kronecker():
    a, b = np.random.default_rng(2).random((3, 4)), np.random.default_rng(3).random((5, 2))
    for x, y in ((a, b), (a[0], b), (a, b[:, 0]), (a[0], b[0])):
        assert np.array_equal(torch.kron(torch.from_numpy(x.copy()), torch.from_numpy(y.copy())).numpy(), np.kron(x, y))
