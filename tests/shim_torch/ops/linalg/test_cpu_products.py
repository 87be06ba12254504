"""Products of matrices, most of which have kernels of their own on a CPU, against float64; what is no number stays in its rows and columns."""

import math

import pytest

import shim_torch as torch

SHAPES = [
    # rows, depth, columns: packed ones, joined ones, those with rests of every kind, and those of the BLAS
    (64, 64, 64),
    (17, 97, 101),
    (200, 33, 50),
    (40, 300, 49),
    (300, 600, 51),
    (7, 515, 70),
    (2, 1500, 64),
    (13, 2100, 9),
    (25, 1030, 6),
    (600, 40, 16),
    (3, 5, 7),
    (48, 1024, 200),
    (9, 600, 500),
    (530, 64, 70),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_values(shape, dtype):
    m, k, n = shape
    x, w, b = torch.randn(m, k, dtype=dtype), torch.randn(n, k, dtype=dtype), torch.randn(n, dtype=dtype)
    wanted = torch.tensor(x.double().numpy() @ w.double().numpy().T)
    # sums of up to 2,100 products, in another order
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close((x @ w.t()).double(), wanted, **close)
    torch.testing.assert_close(torch.nn.functional.linear(x, w, b).double(), wanted + b.double(), **close)
    into = torch.randn(m, n, dtype=dtype)
    both = torch.addmm(into, x, w.t(), alpha=0.5, beta=2.0)
    torch.testing.assert_close(both.double(), 0.5 * wanted + 2 * into.double(), **close)
    for a in (x, x.t().contiguous().t()):  # all orders of the operands' elements
        for c in (w.t(), w.t().contiguous()):
            torch.testing.assert_close((a @ c).double(), wanted, **close)
            torch.testing.assert_close(torch.addmm(into, a, c, alpha=0.5, beta=2.0), both, **close)
            torch.testing.assert_close((c.t() @ a.t()).t().double(), wanted, **close)
    wide = torch.randn(m, k + 5, dtype=dtype)  # rows that do not follow on each other
    torch.testing.assert_close(wide[:, 2 : k + 2] @ w.t(), wide[:, 2 : k + 2].contiguous() @ w.t())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number(shape, value):
    m, k, n = shape
    x, w = torch.rand(m, k) + 0.5, torch.rand(n, k) + 0.5
    x[m - 1, k - 2] = w[1, k - 1] = value
    odd = torch.zeros(m, n, dtype=torch.bool)
    odd[m - 1], odd[:, 1] = True, True
    for a in (x, x.t().contiguous().t()):
        for c in (w.t(), w.t().contiguous()):
            assert torch.equal((a @ c).isfinite(), ~odd)


def test_results_that_were_not_numbers_are_written():
    x, w = torch.randn(48, 320), torch.randn(50, 320)
    out = torch.full((48, 50), math.nan)
    assert torch.equal(torch.mm(x, w.t(), out=out), x @ w.t()) and bool(out.isfinite().all())
    assert torch.equal(torch.addmm(torch.full((48, 50), math.nan), x, w.t(), beta=0), x @ w.t())


def test_batches_and_threads():
    x, w, before = torch.randn(5, 48, 100), torch.randn(5, 70, 100), torch.get_num_threads()
    wanted = torch.stack([a @ b.t() for a, b in zip(x, w, strict=True)])
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            torch.testing.assert_close(x @ w.mT, wanted)
            torch.testing.assert_close(torch.randn(400, 300).mul(0) @ torch.randn(500, 300).t(), torch.zeros(400, 500))
    finally:
        torch.set_num_threads(before)
