"""What a fused layer keeps, and its gradient by hand from that: the split functions against autograd."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import shim_torch as torch
from shim_torch_linear import (
    activation_backward,
    fused_linear,
    fused_linear_with_reserve,
    linear_backward_bias,
    linear_backward_input,
    linear_backward_weight,
    matmul_backward_input,
    matmul_backward_other,
    outer_backward_input,
    outer_backward_other,
)

ACTIVATIONS = [("none", "none"), ("relu", "none"), ("gelu", "none"), ("gelu", "tanh")]


def random(seed, *shape, dtype=torch.float64):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def same(got, want):
    assert got.shape == want.shape
    np.testing.assert_allclose(got.detach().double().numpy(), want.detach().double().numpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("activation, approximate", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 3, 5)])
def test_gradients_by_hand(activation, approximate, shape):
    x, w, b, g = random(0, *shape), random(1, 7, 5), random(2, 7), random(3, *shape[:-1], 7)
    y, reserve = fused_linear_with_reserve(x, w, b, activation, approximate=approximate, keep=True)
    dz = activation_backward(g, reserve, activation, approximate)
    tensors = [t.detach().requires_grad_() for t in (x, w, b)]
    want = fused_linear(*tensors, activation, approximate=approximate)
    same(y, want)
    dx, dw, db = torch.autograd.grad(want, tensors, g)
    same(linear_backward_input(dz, w), dx)
    same(linear_backward_weight(dz, x), dw)
    same(linear_backward_bias(dz), db)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_nothing_is_kept_where_no_gradient_is_wanted(activation):
    x, w = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
    y, reserve = fused_linear_with_reserve(x, w, None, activation)
    assert reserve.shape == y.shape == (2, 4)
    assert (reserve.data_ptr() == y.data_ptr()) == (activation == "relu")
    assert fused_linear_with_reserve(x, w.detach(), None, activation)[1] is None
    with torch.no_grad():
        assert fused_linear_with_reserve(x, w, None, activation)[1] is None
    assert fused_linear_with_reserve(x, w, None, activation, keep=False)[1] is None
    assert fused_linear_with_reserve(x, w, None)[1] is None
    with pytest.raises(RuntimeError, match=f"the gradient of {activation} needs the reserve space, which was not kept"):
        activation_backward(y, None, activation)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_layer_without_gradients_asks_for_no_reserve(activation, monkeypatch):
    from shim_torch_linear import layer

    kept = []
    operator = layer._core.function("shim::fused_linear")

    class Core:
        def __getattr__(self, name):
            return getattr(operator_core, name)

        def function(self, name):
            assert name == "shim::fused_linear"
            return lambda *args: kept.append(args[-1]) or operator(*args)

    operator_core = layer._core
    monkeypatch.setattr(layer, "_core", Core())
    x, w = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True)
    fused_linear(x, w, None, activation)
    fused_linear(x, w.detach(), None, activation)
    with torch.no_grad():
        fused_linear(x, w, None, activation)
    assert kept == [True, False, False]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("activation", ["none", "gelu"])
def test_a_weights_gradient_lies_as_the_weight_does(create_graph, activation):
    """Natively and by the formulas in Python, which second derivatives take."""
    for w, strides in ((random(1, 7, 5), (5, 1)), (random(1, 5, 7).t(), (1, 7)), (random(1, 7, 9)[:, :5], (5, 1))):
        w.requires_grad_()
        y = fused_linear(random(0, 4, 5), w, None, activation)
        (dw,) = torch.autograd.grad(y, [w], random(2, 4, 7), create_graph=create_graph)
        assert dw.shape == (7, 5) and dw.stride() == strides
    assert linear_backward_weight(random(0, 4, 7), random(1, 4, 5), transposed=True).stride() == (1, 7)


SHAPES = [((4, 5), (5, 6)), ((2, 4, 5), (5, 6)), ((2, 4, 5), (2, 5, 6)), ((3, 1, 4, 5), (2, 5, 6)), ((4, 5), (3, 5, 6))]
SHAPES += [((5,), (5, 6)), ((4, 5), (5,)), ((5,), (5,)), ((5,), (3, 5, 6)), ((3, 4, 5), (5,))]


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
@pytest.mark.parametrize("left, right", SHAPES)
def test_gradients_of_products(left, right, dtype):
    a, b = random(0, *left, dtype=dtype).requires_grad_(), random(1, *right, dtype=dtype).requires_grad_()
    if dtype.is_complex:
        a, b = (a.detach() * (1 + 2j)).requires_grad_(), (b.detach() * (3 - 1j)).requires_grad_()
    y = torch.matmul(a, b)
    g = random(2, *y.shape, dtype=dtype)
    da, db = torch.autograd.grad(y, (a, b), g)
    pairs = ((matmul_backward_input(g, b.detach(), left), da), (matmul_backward_other(g, a.detach(), right), db))
    for got, want in pairs:
        assert got.shape == want.shape
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients_of_outer_products(dtype):
    a, b = random(0, 4, dtype=dtype).requires_grad_(), random(1, 5, dtype=dtype).requires_grad_()
    g = random(2, 4, 5, dtype=dtype)
    da, db = torch.autograd.grad(torch.outer(a, b), (a, b), g)
    for got, want in ((outer_backward_input(g, b.detach()), da), (outer_backward_other(g, a.detach()), db)):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_in_float32(dtype):
    g, x, w = random(0, 300, 7, dtype=dtype), random(1, 300, 5, dtype=dtype), random(2, 7, 5, dtype=dtype)
    gd, xd, wd = (t.double().numpy() for t in (g, x, w))
    for got, want in (
        (linear_backward_input(g, w, out_dtype=torch.float32), gd @ wd),
        (linear_backward_weight(g, x, out_dtype=torch.float32), gd.T @ xd),
        (linear_backward_bias(g, out_dtype=torch.float32), gd.sum(0)),
    ):
        assert got.dtype is torch.float32
        np.testing.assert_allclose(got.double().numpy(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_gradients_of_another_dtype_are_rounded_first(dtype):
    g, x, w = random(0, 6, 7, dtype=torch.float32), random(1, 6, 5, dtype=dtype), random(2, 5, 7, dtype=dtype)
    a, b, near = random(3, 6, dtype=dtype), random(4, 7, dtype=dtype), g.to(dtype)
    for function, kept in (
        (linear_backward_input, w.t()),
        (linear_backward_weight, x),
        (matmul_backward_input, w),
        (matmul_backward_other, x),
        (outer_backward_input, b),
        (outer_backward_other, a),
    ):
        found = function(g, kept)
        assert found.dtype is dtype and torch.equal(found, function(near, kept))
    dz = activation_backward(g, near, "gelu")
    assert dz.dtype is dtype and torch.equal(dz, activation_backward(near, near, "gelu"))


def test_errors():
    for call, text in (
        (lambda: linear_backward_input(torch.ones(2, 3), torch.ones(4, 5)), r"\[2, 3\] and \[4, 5\]"),
        (lambda: linear_backward_weight(torch.ones(2, 3), torch.ones(4, 5)), r"\[2, 3\] and \[4, 5\]"),
        (lambda: linear_backward_bias(torch.tensor(1.0)), "without dimensions"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()
    with pytest.raises(ValueError, match="activation_backward: activation must be one of"):
        activation_backward(torch.ones(1), torch.ones(1), "tanh")
    for first, second in itertools.permutations((torch.ones(1), np.ones(1))):
        with pytest.raises(TypeError, match="must be Tensor, not ndarray"):
            activation_backward(first, second, "relu")
