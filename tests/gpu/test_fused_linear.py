"""Linear and the products on cuBLASLt against float64 on the host: shapes, views, biases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from linear_cases import DTYPES, close, numbers, random

import shim_torch as torch
from shim_torch._impl.native import _core

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("linear_settings")


def test_the_library_is_there():
    path, version, why = _core.cublaslt_library()
    assert version >= 120000, why
    print(path, version)


SHAPES = [((3,), 4), ((8, 3), 4), ((8,), 8), ((0, 3), 4), ((2, 3, 8), 8), ((2, 1, 2, 1, 2), 4), ((65, 21), 43), ((1, 768), 3072), ((16, 1024), 4096),
          ((26, 1, 2560), 512), ((5, 1), 7), ((5, 7), 1), ((1, 1), 1), ((4, 0), 3), ((4, 3), 0), ((300, 200), 100)]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, n", SHAPES)
def test_linear_and_gradients(shape, n, dtype):
    rng = np.random.default_rng(0)
    x, w, b = random(rng, *shape, dtype=dtype), random(rng, n, shape[-1], dtype=dtype), random(rng, n, dtype=dtype)
    for t in (x, w, b):
        t.requires_grad_()
    for _ in range(4):  # the third use measures, the fourth uses what was chosen
        y = F.linear(x, w, b)
        g = random(np.random.default_rng(1), *y.shape, dtype=dtype)
        dx, dw, db = torch.autograd.grad(y, (x, w, b), g)
        xd, wd, bd, gd = map(numbers, (x, w, b, g))
        close(y, xd @ wd.T + bd, dtype, shape[-1], product=xd @ wd.T)
        close(dx, gd @ wd, dtype, n)
        rows = math.prod(shape[:-1])
        close(dw, gd.reshape(rows, n).T @ xd.reshape(rows, shape[-1]), dtype, rows)
        close(db, gd.reshape(rows, n).sum(0), dtype, rows)


def test_linear_does_not_fall_back():
    """Every product of a linear, forward and backward, is served natively."""
    _core.gemm_flag("tuning", False)
    x, w, b = (torch.randn(*s, device="cuda", requires_grad=True) for s in ((64, 96), (128, 96), (128,)))
    before = _core.gemm_status()
    F.linear(x, w, b).sum().backward()
    after = _core.gemm_status()
    ran = {name: after[name] - before[name] for name in ("cublaslt", "own_kernels")}
    assert ran["cublaslt"] == 3 and ran["own_kernels"] <= 1  # the bias' gradient may come with the weight's
    assert after["fallbacks"] == before["fallbacks"]


@pytest.mark.parametrize("needs", list(itertools.product([False, True], repeat=3)))
def test_only_wanted_gradients_are_launched(needs):
    tensors = [
        torch.randn(*s, device="cuda", requires_grad=need)
        for s, need in zip(((64, 96), (128, 96), (128,)), needs, strict=True)
    ]
    y = F.linear(*tensors)
    if not any(needs):
        return
    g = torch.ones_like(y)
    _core.gemm_flag("tuning", False)
    before = _core.gemm_status()
    y.backward(g)
    after = _core.gemm_status()
    ran = after["cublaslt"] + after["own_kernels"] - before["cublaslt"] - before["own_kernels"]
    assert sum(needs) - (needs[1] and needs[2]) <= ran <= sum(needs)  # dW and db may be one product
    assert [t.grad is not None for t in tensors] == list(needs)


def views(rng, rows, cols, dtype):
    yield random(rng, rows, cols, dtype=dtype)
    yield random(rng, cols, rows, dtype=dtype).t()
    yield random(rng, rows, cols + 8, dtype=dtype)[:, :cols]
    yield random(rng, cols, rows + 3, dtype=dtype)[:, :rows].t()
    for offset in (1, 2, 4):
        yield random(rng, rows, cols + 8, dtype=dtype)[:, offset : offset + cols]
    yield random(rng, 2 * rows, cols, dtype=dtype)[::2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_any_strides_offsets_and_alignments(dtype):
    rng = np.random.default_rng(2)
    for x, w in itertools.product(views(rng, 24, 40, dtype), views(rng, 56, 40, dtype)):
        for b in (None, random(rng, 56, dtype=dtype), random(rng, 64, dtype=dtype)[1:57]):
            want = numbers(x) @ numbers(w).T + (0 if b is None else numbers(b))
            close(F.linear(x, w, b), want, dtype, 40, product=None if b is None else numbers(x) @ numbers(w).T)
        g = random(rng, 24, 56, dtype=dtype)
        close(_core.function("shim::linear_backward_input")(g, w), numbers(g) @ numbers(w), dtype, 56)
        for transposed in (False, True):
            close(
                _core.function("shim::linear_backward_weight")(g, x, transposed), numbers(g).T @ numbers(x), dtype, 24
            )


def test_leading_dimensions_fold_or_become_a_batch():
    rng = np.random.default_rng(3)
    base, w, b = random(rng, 4, 80, 16), random(rng, 24, 16), random(rng, 24)
    for x in (base, base[:, ::2], base[:, :40], base.transpose(0, 1), base[::2, ::3]):
        close(F.linear(x, w, b), numbers(x) @ numbers(w).T + numbers(b), torch.float32, 16)
        close(torch.matmul(x, w.t()), numbers(x) @ numbers(w).T, torch.float32, 16)


@pytest.mark.parametrize("shape", [(), (1,), (56,), (1, 56), (24, 56), (24, 1)])
def test_broadcast_biases(shape):
    rng = np.random.default_rng(4)
    x, w = random(rng, 24, 40), random(rng, 56, 40)
    b = torch.from_numpy(np.asarray(rng.standard_normal(shape), np.float32)).to("cuda").requires_grad_()
    y = F.linear(x, w, b)
    close(y, numbers(x) @ numbers(w).T + numbers(b), torch.float32, 40)
    y.sum().backward()
    np.testing.assert_allclose(numbers(b.grad), np.full(shape, 24 * 56 / max(b.numel(), 1)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("a, b", [((64, 48), (48, 32)), ((5, 64, 48), (5, 48, 32)), ((5, 64, 48), (48, 32)), ((64, 48), (5, 48, 32)), ((48,), (48, 32)),
                                  ((64, 48), (48,)), ((48,), (48,)), ((2, 1, 16, 8), (3, 8, 4)), ((0, 4), (4, 5)), ((4, 0), (0, 5))])  # fmt: skip
def test_matmul(a, b, dtype):
    rng = np.random.default_rng(5)
    x, y = random(rng, *a, dtype=dtype), random(rng, *b, dtype=dtype)
    close(torch.matmul(x, y), numbers(x) @ numbers(y), dtype, a[-1])


def test_addmm_and_its_like():
    rng = np.random.default_rng(6)
    for beta, alpha in ((1, 1), (0, 1), (0.5, -2)):
        for f, shapes in ((torch.addmm, ((3, 4), (3, 5), (5, 4))), (torch.addmm, ((4,), (3, 5), (5, 4))), (torch.addmv, ((3,), (3, 5), (5,))),
                          (torch.baddbmm, ((2, 3, 4), (2, 3, 5), (2, 5, 4)))):  # fmt: skip
            c, p, q = (random(rng, *s) for s in shapes)
            close(
                f(c, p, q, beta=beta, alpha=alpha),
                beta * numbers(c) + alpha * (numbers(p) @ numbers(q)),
                torch.float32,
                5,
            )
