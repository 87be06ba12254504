"""mm, addmm, bmm and baddbmm with ``out_dtype``: float32 of 16-bit operands, unrounded."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core

NARROW = [torch.float16, torch.bfloat16]


def random(seed, *shape, dtype=torch.float32):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32)).to(dtype)


def numbers(t):
    return t.detach().double().numpy()


@pytest.mark.parametrize("dtype", NARROW)
def test_sums_are_not_rounded(dtype):
    a, b = random(0, 33, 65, dtype=dtype), random(1, 65, 17, dtype=dtype)
    exact = numbers(a) @ numbers(b)
    wide = torch.mm(a, b, out_dtype=torch.float32)
    assert wide.dtype is torch.float32
    np.testing.assert_allclose(numbers(wide), exact, rtol=1e-5, atol=1e-5)
    assert np.abs(numbers(torch.mm(a, b)) - exact).max() > 100 * np.abs(numbers(wide) - exact).max()
    np.testing.assert_allclose(numbers(torch.mm(b.t(), a.t(), out_dtype=torch.float32)), exact.T, rtol=1e-5, atol=1e-5)
    assert torch.mm(a, b, out_dtype=dtype).dtype is dtype


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("self_dtype", [None, torch.float32])
@pytest.mark.parametrize("shape", [(17,), (33, 17), (1,), (33, 1)])
def test_addmm(dtype, self_dtype, shape):
    a, b, c = (
        random(0, 33, 65, dtype=dtype),
        random(1, 65, 17, dtype=dtype),
        random(2, *shape, dtype=self_dtype or dtype),
    )
    got = torch.addmm(c, a, b, out_dtype=torch.float32, beta=0.5, alpha=2)
    assert got.dtype is torch.float32
    np.testing.assert_allclose(numbers(got), 0.5 * numbers(c) + 2 * (numbers(a) @ numbers(b)), rtol=1e-5, atol=1e-4)
    out = torch.empty(33, 17)
    assert torch.addmm(c, a, b, out_dtype=torch.float32, out=out) is out
    np.testing.assert_allclose(numbers(out), numbers(c) + numbers(a) @ numbers(b), rtol=1e-5, atol=1e-4)


def test_beta_zero_reads_nothing():
    a, b = random(0, 3, 4, dtype=torch.bfloat16), random(1, 4, 5, dtype=torch.bfloat16)
    got = torch.addmm(torch.full((5,), torch.nan), a, b, out_dtype=torch.float32, beta=0)
    np.testing.assert_allclose(numbers(got), numbers(a) @ numbers(b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("m, k, n", [(0, 3, 4), (3, 0, 4), (3, 4, 0)])
def test_empty(m, k, n):
    a, b, c = random(0, m, k, dtype=torch.float16), random(1, k, n, dtype=torch.float16), random(2, n)
    assert torch.equal(torch.mm(a, b, out_dtype=torch.float32), torch.zeros(m, n))
    assert torch.equal(torch.addmm(c, a, b, out_dtype=torch.float32, beta=2), (2 * c).expand(m, n))


@pytest.mark.parametrize("dtype", NARROW)
def test_gradients_are_rounded_once(dtype):
    a, b, c = (
        t.requires_grad_()
        for t in (random(0, 9, 33, dtype=dtype), random(1, 33, 7, dtype=dtype), random(2, 7, dtype=dtype))
    )
    g = random(3, 9, 7)
    torch.addmm(c, a, b, out_dtype=torch.float32, beta=3, alpha=2).backward(g)
    assert a.grad.dtype is b.grad.dtype is c.grad.dtype is dtype
    for got, want in (
        (a.grad, 2 * numbers(g) @ numbers(b).T),
        (b.grad, 2 * numbers(a).T @ numbers(g)),
        (c.grad, 3 * numbers(g).sum(0)),
    ):
        np.testing.assert_array_equal(numbers(got), numbers(torch.from_numpy(want).float().to(dtype)))


def test_errors():
    a, b = random(0, 3, 4, dtype=torch.bfloat16), random(1, 4, 5, dtype=torch.bfloat16)
    for call in (
        lambda: torch.mm(a, b, out_dtype=torch.float16),
        lambda: torch.mm(a.float(), b.float(), out_dtype=torch.float64),
        lambda: torch.addmm(torch.zeros(5), a, b, out_dtype=torch.float64),
    ):
        with pytest.raises(
            RuntimeError, match="out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs"
        ):
            call()
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.mm(a, b.half(), out_dtype=torch.float32)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.mm(a, a, out_dtype=torch.float32)
    for call in (
        lambda: torch.bmm(a[None], b[None], out_dtype=torch.float32),
        lambda: torch.baddbmm(torch.zeros(1, 3, 5), a[None], b[None], out_dtype=torch.float32),
    ):
        with pytest.raises(NotImplementedError, match="arguments from the 'CPU' backend"):
            call()


def test_meta():
    a, b = (torch.empty(2, *s, dtype=torch.float16, device="meta") for s in ((3, 4), (4, 5)))
    assert torch.bmm(a, b, out_dtype=torch.float32).dtype is torch.float32
    found = torch.baddbmm(torch.empty(5, device="meta"), a, b, out_dtype=torch.float32)
    assert found.shape == (2, 3, 5) and found.dtype is torch.float32
    assert torch.mm(a[0], b[0], out_dtype=torch.float32).dtype is torch.float32


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("grad_dtype", [torch.float32, torch.float64, torch.float16])
def test_gradients_of_linear_take_mixed_dtypes(dtype, grad_dtype):
    """The gradient is rounded to the dtype of what was kept; the result has that dtype, or float32 where asked for."""
    g, x, w = random(0, 6, 5, dtype=grad_dtype), random(1, 6, 8, dtype=dtype), random(2, 5, 8, dtype=dtype)
    rounded = numbers(g.to(dtype))
    dx, dw = _core.function("shim::linear_backward_input"), _core.function("shim::linear_backward_weight")
    for out_dtype, eps in ((None, 2.0**-7), (torch.float32, 1e-5)):
        for got, want in (
            (dx(g, w, out_dtype), rounded @ numbers(w)),
            (dw(g, x, False, out_dtype), rounded.T @ numbers(x)),
        ):
            assert got.dtype is (out_dtype or dtype)
            np.testing.assert_allclose(numbers(got), want, rtol=eps, atol=eps)
    with pytest.raises(RuntimeError, match="out_dtype must be the same"):
        dx(g, w, torch.float64)
