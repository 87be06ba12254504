"""Products added to a tensor: written to out= and in place without memory in between, scaled, without reading what beta=0 leaves out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def random(seed, *shape, dtype=torch.float32):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def same(got, want):
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-13}.get(got.dtype, 1e-2)
    np.testing.assert_allclose(got.double().numpy(), want.double().numpy(), rtol=tolerance, atol=tolerance)


def layouts(shape, dtype):
    """Places for a result: whole, a part of other memory, transposed, of another shape."""
    yield torch.full(shape, torch.nan, dtype=dtype)
    yield torch.full((*shape[:-1], shape[-1] + 3), torch.nan, dtype=dtype)[..., : shape[-1]]
    yield torch.full((*shape[:-2], shape[-1], shape[-2]), torch.nan, dtype=dtype).transpose(-1, -2)
    yield torch.empty(0, dtype=dtype)


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_out(dtype, batch):
    a, b = random(0, *batch, 5, 33, dtype=dtype), random(1, *batch, 33, 7, dtype=dtype)
    product, added = (torch.bmm, torch.baddbmm) if batch else (torch.mm, torch.addmm)
    for out in layouts((*batch, 5, 7), dtype):
        version = out._version
        assert product(a, b, out=out) is out and out._version > version
        same(out, product(a, b))
    for shape, (beta, alpha) in itertools.product(((*batch, 5, 7), (7,), (5, 1)), ((1, 1), (0.5, 2), (0, 3))):
        c = random(2, *shape, dtype=dtype)
        for out in layouts((*batch, 5, 7), dtype):
            added(c, a, b, beta=beta, alpha=alpha, out=out)
            same(out, added(c, a, b, beta=beta, alpha=alpha))


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_added_to_itself(dtype, batch):
    a, b, c = (random(i, *batch, *s, dtype=dtype) for i, s in enumerate(((5, 33), (33, 7), (5, 7))))
    added = torch.baddbmm if batch else torch.addmm
    want = added(c, a, b, beta=0.5, alpha=2)
    for view in (c.clone(), c.transpose(-1, -2).contiguous().transpose(-1, -2)):
        got = view.clone(memory_format=torch.preserve_format)
        address = got.data_ptr()
        assert added(got, a, b, beta=0.5, alpha=2, out=got) is got
        same(got, want)
        got = view.clone(memory_format=torch.preserve_format)
        version = got._version
        assert (got.baddbmm_ if batch else got.addmm_)(a, b, beta=0.5, alpha=2) is got and got._version == version + 1
        same(got, want)
        assert address


def test_an_operand_that_is_written_to_is_read_first():
    a, b = random(0, 6, 6), random(1, 6, 6)
    want = torch.addmm(a, a, b)
    for other in (a.clone(), a.clone()):
        torch.addmm(other, a, b, out=other)
        same(other, want)
    for product in (torch.mm, lambda a, b, out: torch.addmm(torch.zeros(6), a, b, out=out)):
        for first in (True, False):
            x, y = a.clone(), b.clone()
            product(x, y, out=x if first else y)
            same(x if first else y, a @ b)
    row = random(2, 8, 6)
    want = torch.addmm(row[0], a, b)
    torch.addmm(row[0], a, b, out=row[2:])
    same(row[2:], want)


def test_float32_of_16_bit_operands_is_added_up_in_place():
    """As a loss that is computed in chunks adds up the gradient of its weight."""
    total = torch.zeros(16, 24)
    exact = np.zeros((16, 24))
    address, runs = total.data_ptr(), _core.gemm_status()["cpu"]
    for i in range(4):
        g, x = random(2 * i, 40, 16, dtype=torch.bfloat16), random(2 * i + 1, 40, 24, dtype=torch.bfloat16)
        torch.addmm(total, g.t(), x, out_dtype=torch.float32, out=total)
        exact += g.double().numpy().T @ x.double().numpy()
    assert total.data_ptr() == address and _core.gemm_status()["cpu"] == runs + 4
    np.testing.assert_allclose(total.numpy(), exact, rtol=1e-4, atol=1e-4)


def test_gradients_of_what_is_added_in_place():
    a, b, c = (random(i, *s, dtype=torch.float64).requires_grad_() for i, s in enumerate(((5, 3), (3, 7), (5, 7))))
    g = random(3, 5, 7, dtype=torch.float64)
    want = torch.autograd.grad(torch.addmm(c, a, b, beta=2, alpha=3), (a, b, c), g)
    found = torch.autograd.grad((c * 1).addmm_(a, b, beta=2, alpha=3), (a, b, c), g)
    for x, y in zip(found, want, strict=True):
        same(x, y)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.addmm(c, a, b, out=torch.empty(5, 7, dtype=torch.float64))


def test_errors():
    a, b = random(0, 5, 3), random(1, 3, 7)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        torch.zeros(5, 7).addmm_(a, a)
    with pytest.raises(
        RuntimeError, match=r"Expected out tensor to have dtype|Expected object of scalar type|expected"
    ):
        torch.mm(a, b, out=torch.empty(5, 7, dtype=torch.float64))


def as_numpy(t):
    return t.detach().to(torch.float64).cpu().numpy()


@pytest.mark.parametrize("beta, alpha", [(1, 1), (0, 1), (0.5, -2), (1, 0.25)])
def test_addmm_addmv_baddbmm(beta, alpha):
    rng = np.random.default_rng(2)
    cases = [(torch.addmm, ((3, 4), (3, 5), (5, 4))), (torch.addmm, ((4,), (3, 5), (5, 4))), (torch.addmm, ((3, 1), (3, 5), (5, 4))),
             (torch.addmm, ((), (3, 5), (5, 4))), (torch.addmv, ((3,), (3, 5), (5,))), (torch.addmv, ((1,), (3, 5), (5,))),
             (torch.baddbmm, ((2, 3, 4), (2, 3, 5), (2, 5, 4))), (torch.baddbmm, ((3, 4), (2, 3, 5), (2, 5, 4))),
             (torch.addmm, ((3, 4), (3, 0), (0, 4)))]  # fmt: skip
    for function, shapes in cases:
        c, a, b = (torch.from_numpy(np.asarray(rng.standard_normal(s))).requires_grad_() for s in shapes)
        got = function(c, a, b, beta=beta, alpha=alpha)
        np.testing.assert_allclose(
            as_numpy(got), beta * as_numpy(c) + alpha * (as_numpy(a) @ as_numpy(b)), rtol=1e-12, atol=1e-13
        )
        got.sum().backward()
        ones = np.ones(got.shape)
        want = alpha * (ones @ np.swapaxes(as_numpy(b), -1, -2) if b.dim() > 1 else np.outer(ones, as_numpy(b)))
        np.testing.assert_allclose(as_numpy(a.grad), want, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(as_numpy(c.grad).sum(), beta * ones.sum(), rtol=1e-12, atol=1e-12)


def test_beta_zero_ignores_nan():
    nan = torch.full((2, 2), float("nan"))
    assert torch.addmm(nan, torch.ones(2, 3), torch.ones(3, 2), beta=0).tolist() == [[3, 3], [3, 3]]
    assert torch.addmv(nan[0], torch.ones(2, 3), torch.ones(3), beta=0).tolist() == [3, 3]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.bfloat16])
@pytest.mark.parametrize("again", [False, True])
def test_gradients_of_transposed_matrices_lie_as_they_do(dtype, again):
    a, b = (torch.randn(s, dtype=dtype, requires_grad=True) for s in ((5, 4), (3, 5)))
    c = torch.zeros(4, 3, dtype=dtype)
    for call in (lambda x, y: x @ y, lambda x, y: torch.addmm(c, x, y)):
        g = torch.randn(4, 3, dtype=dtype)
        left, right = torch.autograd.grad(call(a.t(), b.t()), (a, b), g, create_graph=again)
        assert left.is_contiguous() and right.is_contiguous()
        rows = [t.detach().t().contiguous().requires_grad_() for t in (a, b)]
        expected = torch.autograd.grad(call(*rows), rows, g)
        assert expected[0].is_contiguous() and expected[1].is_contiguous()
        torch.testing.assert_close(left, expected[0].t())
        torch.testing.assert_close(right, expected[1].t())


def test_addbmm_takes_the_shape_of_the_products():
    x = torch.tensor([2.0])
    x.addbmm_(torch.ones(2, 2, 3), torch.ones(2, 3, 2))
    assert x.tolist() == [[8.0, 8.0], [8.0, 8.0]]
    with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype, but got Double and Float"):
        torch.addbmm(torch.zeros(1), torch.ones(2, 2, 3), torch.ones(2, 3, 2), out=torch.zeros(2, 2).double())
