"""linear and its gradients: values against float64, views without copies, degenerate shapes, PyTorch's errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core

F = torch.nn.functional
EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def random(rng, *shape, dtype=torch.float64):
    return torch.from_numpy(rng.standard_normal(shape)).to(torch.get_default_device(), dtype)


def numbers(t):
    return t.detach().to(torch.float64).cpu().numpy()


def close(got, want, dtype, k=1, magnitude=1.0, rounded=0.0):
    """|error| within two roundings of the result, one of what was ``rounded`` on the way and that of a sum of k products."""
    error = np.abs(numbers(got) - want)
    accumulate = EPS[torch.float64 if dtype is torch.float64 else torch.float32]
    bound = EPS[dtype] * (2 * np.abs(want) + rounded) + 4 * np.sqrt(max(k, 1)) * accumulate * magnitude + 1e-300
    assert got.shape == want.shape
    assert (error <= bound).all(), f"{error.max()} over {bound.min()}"


SHAPES = [
    ((3,), 4),
    ((8, 3), 4),
    ((0, 3), 4),
    ((2, 3, 5), 8),
    ((65, 21), 43),
    ((1, 16), 8),
    ((5, 1), 8),
    ((5, 8), 1),
    ((2, 1, 2, 1, 2), 4),
]


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize("dtype", list(EPS))
@pytest.mark.parametrize("shape, n", SHAPES)
def test_values_and_gradients(shape, n, dtype, device):
    rng = np.random.default_rng(0)
    x, w, b = random(rng, *shape, dtype=dtype), random(rng, n, shape[-1], dtype=dtype), random(rng, n, dtype=dtype)
    for t in (x, w, b):
        t.requires_grad_()
    y = F.linear(x, w, b)
    g = random(rng, *y.shape, dtype=dtype)
    y.backward(g)
    xd, wd, bd, gd = map(numbers, (x, w, b, g))
    product = xd @ wd.T
    # The product may be rounded before the bias is added, where that was measured to be faster.
    close(y, product + bd, dtype, shape[-1], 30, np.abs(product) if device == "cuda" else 0.0)
    close(x.grad, gd @ wd, dtype, n, 30)
    rows_g, rows_x = gd.reshape(-1, n), xd.reshape(-1, shape[-1]) if x.numel() else np.zeros((0, shape[-1]))
    close(w.grad, rows_g.T @ rows_x, dtype, len(rows_g), 30)
    close(b.grad, rows_g.sum(0), dtype, len(rows_g), 30)


def views(rng, rows, cols, dtype):
    """The same kind of matrix in many layouts."""
    yield "contiguous", random(rng, rows, cols, dtype=dtype)
    yield "transposed", random(rng, cols, rows, dtype=dtype).t()
    yield "padded", random(rng, rows, cols + 3, dtype=dtype)[:, :cols]
    yield "padded transposed", random(rng, cols, rows + 2, dtype=dtype)[:, :rows].t()
    yield "misaligned", random(rng, rows, cols + 5, dtype=dtype)[:, 1 : cols + 1]
    yield "every other column", random(rng, rows, 2 * cols, dtype=dtype)[:, ::2]
    yield "every other row", random(rng, 2 * rows, cols, dtype=dtype)[::2]
    yield "expanded row", random(rng, 1, cols, dtype=dtype).expand(rows, cols)
    yield "expanded column", random(rng, rows, 1, dtype=dtype).expand(rows, cols)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_any_strides(dtype):
    rng = np.random.default_rng(2)
    for (_, x), (_, w) in itertools.product(views(rng, 7, 6, dtype), views(rng, 5, 6, dtype)):
        close(F.linear(x, w), numbers(x) @ numbers(w).T, dtype, 6, 10)
        g = random(rng, 7, 5, dtype=dtype)
        close(_core.function("shim::linear_backward_input")(g, w), numbers(g) @ numbers(w), dtype, 5, 10)
        for transposed in (False, True):
            dw = _core.function("shim::linear_backward_weight")(g, x, transposed)
            close(dw, numbers(g).T @ numbers(x), dtype, 7, 10)
            assert dw.stride() == ((1, 5) if transposed else (6, 1))


def test_leading_dimensions_fold_or_become_a_batch():
    rng = np.random.default_rng(3)
    base, w, b = random(rng, 4, 80, 6), random(rng, 5, 6), random(rng, 5)
    for x in (
        base,
        base[:, ::2],
        base[:, :40],
        base.transpose(0, 1),
        base[:, :, None].expand(4, 80, 3, 6),
        base[::2, ::3],
    ):
        np.testing.assert_allclose(
            numbers(F.linear(x, w, b)), numbers(x) @ numbers(w).T + numbers(b), rtol=1e-12, atol=1e-13
        )


def test_gradient_of_a_transposed_weight_has_its_strides():
    w = torch.ones(8, 16).t().requires_grad_()
    F.linear(torch.ones(3, 8), w).sum().backward()
    assert w.grad.stride() == w.stride() == (1, 16)


def test_empty_sizes():
    x, w, b = (
        torch.ones(0, 3, requires_grad=True),
        torch.ones(4, 3, requires_grad=True),
        torch.ones(4, requires_grad=True),
    )
    F.linear(x, w, b).sum().backward()
    assert x.grad.shape == (0, 3) and (w.grad == 0).all() and (b.grad == 0).all()
    x, w = torch.ones(5, 3, requires_grad=True), torch.ones(0, 3, requires_grad=True)
    F.linear(x, w).sum().backward()
    assert (x.grad == 0).all() and w.grad.shape == (0, 3)
    x, w, b = (
        torch.ones(5, 0, requires_grad=True),
        torch.ones(4, 0, requires_grad=True),
        torch.arange(4.0).requires_grad_(),
    )
    y = F.linear(x, w, b)
    assert (y == b).all() and (F.linear(x, w) == 0).all()
    y.sum().backward()
    assert x.grad.shape == (5, 0) and w.grad.shape == (4, 0) and (b.grad == 5).all()


@pytest.mark.parametrize("shape", [(), (1,), (4,), (1, 4), (3, 4), (3, 1)])
def test_broadcast_biases(shape):
    rng = np.random.default_rng(4)
    x, w, b = (
        random(rng, 3, 5),
        random(rng, 4, 5),
        torch.from_numpy(np.asarray(rng.standard_normal(shape))).requires_grad_(),
    )
    y = F.linear(x, w, b)
    np.testing.assert_allclose(numbers(y), numbers(x) @ numbers(w).T + numbers(b), rtol=1e-12)
    y.sum().backward()
    assert b.grad.shape == b.shape
    np.testing.assert_allclose(numbers(b.grad), np.full(shape, 12 / max(b.numel(), 1)))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (2, 1, 4), (1, 3, 4), (3, 4), (1, 4), (6, 1), (1, 1)])
def test_biases_of_folded_rows(shape):
    """A vector, whatever dimensions of 1 it has beside, is added to the folded rows; other biases to the result."""
    rng = np.random.default_rng(5)
    x, w = random(rng, 2, 3, 5), random(rng, 4, 5)
    b = torch.from_numpy(rng.standard_normal(shape)).requires_grad_()
    y = F.linear(x, w, b)
    product = numbers(x) @ numbers(w).T
    want = (product.reshape(6, 4) + numbers(b)).reshape(2, 3, 4) if shape == (6, 1) else product + numbers(b)
    np.testing.assert_allclose(numbers(y), want, rtol=1e-12)
    y.sum().backward()
    np.testing.assert_allclose(numbers(b.grad), np.full(shape, 24 / b.numel()))
    assert F.linear(x[0, 0], w, torch.ones(1, 4, dtype=torch.float64)).shape == (4,)


def test_one_dimensional_operands():
    x, w = torch.arange(3.0), torch.tensor([1.0, 2.0, 4.0])
    assert F.linear(x, w).shape == () and F.linear(x, w).item() == 10
    assert F.linear(torch.ones(2, 3), w).tolist() == [7, 7]
    assert F.linear(x, torch.ones(2, 3), torch.tensor([1.0, 2.0])).tolist() == [4, 5]
    assert F.linear(x, w, torch.tensor(5.0)).item() == 15


R = torch.randn
ERRORS = [
    (lambda: F.linear(torch.tensor(1.0), R(3, 4)), "both arguments to linear need to be at least 1D, but they are 0D and 2D"),
    (lambda: F.linear(R(2, 4), R(4), R(1)), "mat2 must be a matrix, got 1-D tensor"),
    (lambda: F.linear(R(2, 4), R(8)), "size mismatch, got input (2), mat (2x4), vec (8)"),
    (lambda: F.linear(R(2, 4), R(2, 3, 4)), "t() expects a tensor with <= 2 dimensions, but self is 3D"),
    (lambda: F.linear(R(2, 2, 7), R(16, 8)), "mat1 and mat2 shapes cannot be multiplied (4x7 and 8x16)"),
    (lambda: F.linear(R(7), R(16, 8)), "mat1 and mat2 shapes cannot be multiplied (1x7 and 8x16)"),
    (lambda: F.linear(R(2, 8).half(), R(16, 8)), "expected m1 and m2 to have the same dtype, but got: c10::Half != float"),
    (lambda: F.linear(R(2, 8).half(), R(16, 8), R(16)), "mat1 and mat2 must have the same dtype, but got Half and Float"),
    (lambda: F.linear(R(2, 8).half(), R(16, 8).half(), R(16)), "self and mat2 must have the same dtype, but got Float and Half"),
    (lambda: F.linear(R(4, 8), R(16, 8), R(15)), "The expanded size of the tensor (16) must match the existing size (15) at "
     "non-singleton dimension 1.  Target sizes: [4, 16].  Tensor sizes: [15]"),
    (lambda: F.linear(R(2, 4, 3), R(5, 3), R(2, 1, 1)), "expand(torch.FloatTensor{[2, 1, 1]}, size=[8, 5]): the number of sizes provided "
     "(2) must be greater or equal to the number of dimensions in the tensor (3)"),
    (lambda: F.linear(R(2, 4, 3), R(5, 3), R(4, 1)), "The expanded size of the tensor (8) must match the existing size (4) at "
     "non-singleton dimension 0.  Target sizes: [8, 5].  Tensor sizes: [4, 1]"),
    (lambda: F.linear(R(3), R(5, 3), R(4, 5)), "output with shape [5] doesn't match the broadcast shape [4, 5]"),
    (lambda: F.linear(R(2, 2, 8), R(16, 8), R(15)), "The expanded size of the tensor (16) must match the existing size (15) at "
     "non-singleton dimension 1.  Target sizes: [4, 16].  Tensor sizes: [15]"),
    (lambda: F.linear(R(2, 2, 8), R(16, 8), R(4, 16)), "The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension 1"),
    (lambda: F.linear(R(4, 8), R(16, 8), R(4, 4, 16)), "expand(torch.FloatTensor{[4, 4, 16]}, size=[4, 16]): the number of sizes "
     "provided (2) must be greater or equal to the number of dimensions in the tensor (3)"),
]  # fmt: skip


@pytest.mark.parametrize("call, text", ERRORS)
def test_errors_are_pytorchs(call, text):
    with pytest.raises(RuntimeError) as error:
        call()
    assert str(error.value) == text


def test_meta_shapes():
    y = F.linear(
        torch.empty(2, 3, 8, device="meta", dtype=torch.float16), torch.empty(16, 8, device="meta", dtype=torch.float16)
    )
    assert y.is_meta and y.shape == (2, 3, 16) and y.stride() == (48, 16, 1) and y.dtype is torch.float16


def test_integers_go_by_the_body():
    x, w = torch.arange(6).reshape(2, 3), torch.arange(12).reshape(4, 3)
    assert (numbers(F.linear(x, w)) == numbers(x) @ numbers(w).T).all()


def test_autocast_lowers_linear_and_gives_float32_gradients():
    x, w = torch.randn(4, 8), torch.randn(3, 8, requires_grad=True)
    _core.set_autocast_enabled("cpu", True)
    try:
        y = F.linear(x, w)
    finally:
        _core.set_autocast_enabled("cpu", False)
    assert y.dtype is torch.bfloat16
    y.sum().backward()
    assert w.grad.dtype is torch.float32


def test_16_bit_results_are_rounded_once():
    rng = np.random.default_rng(6)
    for dtype in (torch.float16, torch.bfloat16):
        x, w, b = random(rng, 5, 64, dtype=dtype), random(rng, 7, 64, dtype=dtype), random(rng, 7, dtype=dtype)
        exact = numbers(x) @ numbers(w).T + numbers(b)
        fused = np.abs(numbers(F.linear(x, w, b)) - exact).max()
        unfused = np.abs(numbers(torch.matmul(x, w.t()) + b) - exact).max()
        assert fused <= unfused
