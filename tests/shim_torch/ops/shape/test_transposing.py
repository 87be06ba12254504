"""Dims in another order: views of the same memory, as NumPy orders them, with the order undone in gradients."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch

ORDERS = [
    (lambda t: t.transpose(0, -1), lambda a: a.swapaxes(0, -1)),
    (lambda t: t.swapaxes(1, 2), lambda a: a.swapaxes(1, 2)),
    (lambda t: torch.swapdims(t, -3, 1), lambda a: a.swapaxes(0, 1)),
    (lambda t: t.permute(2, 0, -2), lambda a: a.transpose(2, 0, 1)),
    (lambda t: t.movedim(0, -1), lambda a: np.moveaxis(a, 0, -1)),
    (lambda t: torch.moveaxis(t, (2, 0), (0, 1)), lambda a: np.moveaxis(a, (2, 0), (0, 1))),
    (lambda t: t[0].t(), lambda a: a[0].T),
]


@pytest.mark.parametrize(("call", "there"), ORDERS)
def test_orders(call, there):
    x = torch.arange(24.0, requires_grad=True)
    a = np.arange(24, dtype=np.float32)
    found, expected = call(x.view(2, 3, 4)), there(a.reshape(2, 3, 4))
    assert found.shape == expected.shape and found.stride() == tuple(s // 4 for s in expected.strides)
    assert found._is_view() and found.data_ptr() == x.data_ptr()
    np.testing.assert_array_equal(found.detach().numpy(), expected)
    weights = torch.arange(float(found.numel())).view(found.shape)
    (g,) = torch.autograd.grad((found * weights).sum(), x)
    slope = np.zeros(24, np.float32)
    there(slope.reshape(2, 3, 4))[...] = weights.numpy()
    np.testing.assert_array_equal(g.numpy(), slope)


def test_fewer_dims_are_their_own_transpose():
    for x in (torch.tensor(3.0), torch.arange(3.0)):
        assert x.t().shape == x.shape and x.t()._is_view()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: x.t(), RuntimeError, r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D"),
        (lambda x: x.movedim((0, 1), (0,)), RuntimeError, "movedim: Invalid source or destination dims"),
        (lambda x: x.movedim((0, -3), (0, 1)), RuntimeError, "movedim: repeated dim in `source`"),
        (lambda x: x.movedim((0, 1), (1, 1)), RuntimeError, "movedim: repeated dim in `destination`"),
        (lambda x: x.movedim(3, 0), IndexError, "Dimension out of range"),
        (lambda x: x.transpose(0, 3), IndexError, "Dimension out of range"),
        (lambda x: x.permute(0, 0, 1), RuntimeError, "permute"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2, 3, 4))
