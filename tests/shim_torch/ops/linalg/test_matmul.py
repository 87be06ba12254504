"""Matrix products: values against float64 in any layout, batches without copies, gradients, PyTorch's errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core

from ..checked_calls import FLOATS, close, drawn, natively


def random(rng, *shape, dtype=torch.float64):
    return torch.from_numpy(rng.standard_normal(shape)).to(torch.get_default_device(), dtype)


def numbers(t):
    return t.detach().to(torch.float64).cpu().numpy()


SHAPES = [((3,), (3,)), ((4, 3), (3,)), ((3,), (3, 5)), ((4, 3), (3, 5)), ((2, 4, 3), (3, 5)), ((2, 4, 3), (3,)), ((3,), (2, 3, 5)),
          ((2, 4, 3), (2, 3, 5)), ((2, 4, 3), (1, 3, 5)), ((4, 3), (2, 3, 5)), ((2, 1, 4, 3), (5, 3, 6)), ((0, 3), (3, 5)),
          ((4, 0), (0, 5)), ((2, 4, 0), (2, 0, 5)), ((0, 4, 3), (0, 3, 5)), ((1, 1), (1, 1)), ((7, 1), (1, 9)), ((2, 3, 40, 8), (2, 3, 8, 8))]  # fmt: skip


@pytest.mark.devices("cpu", "cuda")
@pytest.mark.parametrize(
    "dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float16, 2e-3)]
)
@pytest.mark.parametrize("a, b", SHAPES)
def test_matmul_and_gradients(a, b, dtype, tolerance, device):
    rng = np.random.default_rng(0)
    x, y = random(rng, *a, dtype=dtype).requires_grad_(), random(rng, *b, dtype=dtype).requires_grad_()
    want = numbers(x) @ numbers(y)
    got = torch.matmul(x, y)
    np.testing.assert_allclose(numbers(got), want, rtol=tolerance, atol=10 * tolerance)
    np.testing.assert_allclose(numbers(torch.matmul(x.detach(), y.detach())), want, rtol=tolerance, atol=10 * tolerance)
    g = random(rng, *want.shape, dtype=dtype)
    got.backward(g)
    left = x.detach().double().requires_grad_()
    right = y.detach().double().requires_grad_()
    exact = np.einsum("...ij,...jk->...ik", numbers(left) if len(a) > 1 else numbers(left)[None], numbers(right) if len(b) > 1 else numbers(right)[:, None])  # fmt: skip
    gd = numbers(g).reshape(exact.shape)
    ga = gd @ np.swapaxes(numbers(right) if len(b) > 1 else numbers(right)[:, None], -1, -2)
    gb = np.swapaxes(numbers(left) if len(a) > 1 else numbers(left)[None], -1, -2) @ gd
    np.testing.assert_allclose(numbers(x.grad), summed(ga, a), rtol=4 * tolerance, atol=40 * tolerance)
    np.testing.assert_allclose(numbers(y.grad), summed(gb, b), rtol=4 * tolerance, atol=40 * tolerance)


def summed(array, shape):
    """Summed to a shape that broadcast to it."""
    if len(shape) == 1:
        return array.sum(tuple(range(array.ndim - 2))).reshape(shape)
    array = array.sum(tuple(range(array.ndim - len(shape))))
    for i, n in enumerate(shape):
        if n == 1:
            array = array.sum(i, keepdims=True)
    return array


def test_batches_of_any_layout():
    rng = np.random.default_rng(1)
    big = random(rng, 6, 8, 10)
    forms = [
        big,
        big.transpose(0, 1),
        big.transpose(1, 2),
        big[:, ::2],
        big[::2],
        big[:, :, 1:9],
        big[:1].expand(6, 8, 10),
        big[:, :1].expand(6, 8, 10),
    ]
    for x in forms:
        y = random(rng, x.size(0), x.size(2), 4)
        np.testing.assert_allclose(numbers(torch.bmm(x, y)), numbers(x) @ numbers(y), rtol=1e-12, atol=1e-13)
        z = random(rng, x.size(0), 4, x.size(1))
        np.testing.assert_allclose(numbers(torch.bmm(z, x)), numbers(z) @ numbers(x), rtol=1e-12, atol=1e-13)


def test_in_place_and_out():
    c = torch.ones(2, 2)
    assert c.addmm_(torch.ones(2, 3), torch.ones(3, 2)) is c and c.tolist() == [[4, 4], [4, 4]]
    out = torch.empty(2, 2)
    torch.mm(torch.ones(2, 3), torch.ones(3, 2), out=out)
    assert out.tolist() == [[3, 3], [3, 3]]


def test_products_are_native():
    before = _core.gemm_status()["cpu"]
    torch.mm(torch.ones(2, 3), torch.ones(3, 2))
    torch.ones(2, 3) @ torch.ones(3)
    torch.bmm(torch.ones(2, 3, 4), torch.ones(2, 4, 5))
    assert _core.gemm_status()["cpu"] - before == 3


R = torch.randn
ERRORS = [
    (lambda: torch.mv(R(3, 4), R(3)), "size mismatch, got input (3), mat (3x4), vec (3)"),
    (lambda: torch.mv(R(3, 4, 2), R(3)), "vector + matrix @ vector expected, got 1, 3, 1"),
    (lambda: torch.mv(R(3, 4), R(4).double()), "addmv input tensors must have the same dtype, but got Double, Float, and Double"),
    (lambda: torch.addmv(R(4), R(3, 4), R(4)), "size mismatch, got input (4), mat (3x4), vec (4)"),
    (lambda: torch.baddbmm(R(2, 3, 5), R(2, 3, 4), R(2, 5, 4)), "The expanded size of the tensor (4) must match the "
     "existing size (5) at non-singleton dimension 2.  Target sizes: [2, 3, 4].  Tensor sizes: [2, 3, 5]"),
    (lambda: torch.baddbmm(R(2, 4, 5), R(2, 3, 4), R(2, 4, 5)), "The expanded size of the tensor (3) must match the existing size (4) at "
     "non-singleton dimension 1.  Target sizes: [2, 3, 5].  Tensor sizes: [2, 4, 5]"),
    (lambda: torch.bmm(R(2, 3, 4), R(2, 4, 5).double()), "expected scalar type Float but found Double"),
    (lambda: torch.mm(R(3, 4), R(4, 5).double()), "expected m1 and m2 to have the same dtype, but got: float != double"),
    (lambda: torch.bmm(R(2, 4), R(2, 4, 5)), "batch1 must be a 3D tensor"),
    (lambda: torch.mm(R(3), R(4, 5)), "self must be a matrix"),
    (lambda: torch.mm(R(3, 4), R(3, 4)), "mat1 and mat2 shapes cannot be multiplied (3x4 and 3x4)"),
    (lambda: torch.dot(R(3), R(4)), "inconsistent tensor size, expected tensor [3] and src [4] to have the same number "
     "of elements, but got 3 and 4 elements respectively"),
    (lambda: torch.dot(R(3, 1), R(4)), "1D tensors expected, but got 2D and 1D tensors"),
    (lambda: torch.addmm(R(3), R(2, 3), R(3, 4)), "The expanded size of the tensor (4) must match the existing size (3) at "
     "non-singleton dimension 1.  Target sizes: [2, 4].  Tensor sizes: [3]"),
    (lambda: torch.addmm(R(4), R(2, 3), R(3)), "mat2 must be a matrix, got 1-D tensor"),
    (lambda: torch.matmul(R(2, 3, 4), R(3, 5)), "mat1 and mat2 shapes cannot be multiplied (6x4 and 3x5)"),
    (lambda: torch.matmul(R(2, 3, 4), R(3)), "size mismatch, got input (6), mat (6x4), vec (3)"),
    (lambda: torch.matmul(torch.tensor(1.0), R(3)), "both arguments to matmul need to be at least 1D, but they are 0D and 1D"),
]  # fmt: skip


@pytest.mark.parametrize("call, text", ERRORS)
def test_errors_are_pytorchs(call, text):
    with pytest.raises(RuntimeError) as error:
        call()
    assert str(error.value) == text


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("sizes", [(4, 5, 6), (1, 7, 1), (4, 0, 3), (0, 2, 3), (2, 3, 0)])
def test_gradients_of_products(sizes, batch, dtype):
    m, k, n = sizes
    rng = np.random.default_rng(5)

    def operand(*shape):
        return torch.from_numpy(rng.standard_normal(shape)).to(dtype)

    for a, b in (
        (operand(*batch, m, k), operand(*batch, k, n)),
        (operand(*batch, k, m).transpose(-1, -2), operand(*batch, n, k).transpose(-1, -2)),
    ):
        for needs in ((True, True), (True, False), (False, True)):
            x, y = (t.detach().requires_grad_(need) for t, need in zip((a, b), needs, strict=True))
            g = operand(*batch, m, n)
            (torch.bmm if batch else torch.mm)(x, y).backward(g)
            wide = [t.detach().to(torch.complex128 if dtype.is_complex else torch.float64).numpy() for t in (x, y, g)]
            for t, want in (
                (x, wide[2] @ wide[1].conj().swapaxes(-1, -2)),
                (y, wide[0].conj().swapaxes(-1, -2) @ wide[2]),
            ):
                assert (t.grad is not None) == t.requires_grad
                if t.grad is not None:
                    found = t.grad.to(torch.complex128 if dtype.is_complex else torch.float64).numpy()
                    eps = {torch.float16: 1e-3, torch.bfloat16: 8e-3}.get(dtype, 1e-5)
                    np.testing.assert_allclose(found, want, rtol=eps, atol=eps)


def test_what_backward_of_a_product_shows():
    """A mode sees the products of the backward pass; negative views and broadcast gradients are read as what they stand for."""
    from shim_torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    a, b = torch.randn(2, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    y = torch.mm(a, b)
    with Mode():
        y.sum().backward()
    assert seen.count("aten.mm.default") == 2
    z = torch.randn(3, 4, dtype=torch.complex64)
    x = torch.randn(2, 3, requires_grad=True)
    torch.mm(x, z.conj().imag).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.tile(-z.imag.sum(1).numpy(), (2, 1)), rtol=1e-5, atol=1e-6)
    first = torch.autograd.grad(torch.mm(a, b).pow(2).sum(), a, create_graph=True)[0]
    assert torch.autograd.grad(first.sum(), b)[0].shape == (3, 4)


rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_products_wrap_around(dtype):
    limits = np.iinfo(dtype)
    for low, high in ((0, 9), (limits.min, limits.max)):
        for shape in ((3, 4, 5), (33, 40, 37), (1, 5000, 1), (0, 3, 50), (40, 0, 40)):
            m, k, n = shape
            a, b = (rng.integers(low, high, s, dtype=dtype, endpoint=True) for s in ((m, k), (k, n)))
            with np.errstate(all="ignore"):
                expected = np.matmul(a, b)
            assert np.array_equal((torch.from_numpy(a) @ torch.from_numpy(b)).numpy(), expected)
            many = torch.bmm(torch.from_numpy(np.stack([a, a])), torch.from_numpy(np.stack([b, b])))
            assert many.dtype is getattr(torch, dtype) and np.array_equal(many[1].numpy(), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 7, 1), (16, 1, 3), (64, 32, 48)])
def test_products(dtype: Any, sizes: Any) -> None:
    m, k, n = sizes
    a, b = drawn((m, k), dtype), drawn((k, n), dtype)
    wide = np.float64 if dtype == np.float64 else np.float32
    expected = a.astype(wide) @ b.astype(wide)
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    close(natively(lambda: x.mm(y)), expected, dtype)
    close(natively(lambda: torch.from_numpy(a.T.copy()).t() @ torch.from_numpy(b.T.copy()).t()), expected, dtype)
    padded = torch.zeros(m, k + 3, dtype=x.dtype)
    padded[:, :k].copy_(x)
    close(natively(lambda: padded[:, :k] @ y), expected, dtype)
    every_other = torch.zeros(m, 2 * k, dtype=x.dtype)
    every_other[:, ::2].copy_(x)
    close(natively(lambda: every_other[:, ::2] @ y), expected, dtype)
    close(natively(lambda: x @ y[:, 0]), expected[:, 0], dtype)
    close(natively(lambda: x[0] @ y), expected[0], dtype)
    close(natively(lambda: x.expand(2, m, k) @ y), np.stack([expected] * 2), dtype)
    batch = natively(lambda: x.expand(2, 3, m, k) @ y.expand(2, 3, k, n).contiguous())
    close(batch, np.broadcast_to(expected, (2, 3, m, n)), dtype)
    c = drawn((n,), dtype)
    got = natively(lambda: torch.addmm(torch.from_numpy(c), x, y, beta=0.5, alpha=2))
    close(got, 0.5 * c.astype(wide) + 2 * expected, dtype)


def test_products_of_nothing() -> None:
    assert (torch.ones(2, 0) @ torch.ones(0, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert (torch.ones(0, 2) @ torch.ones(2, 3)).shape == (0, 3)
    with pytest.raises(RuntimeError, match=r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"):
        torch.ones(2, 3) @ torch.ones(2, 3)
    nan = torch.full((2, 2), float("nan"))
    assert torch.addmm(nan, torch.ones(2, 2), torch.ones(2, 2), beta=0).tolist() == [[2, 2], [2, 2]]


def test_blas_follows_the_number_of_threads() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
        assert (torch.ones(300, 300) @ torch.ones(300, 300)).eq(300).all().item()
    finally:
        torch.set_num_threads(before)
