"""Products of bfloat16, and of few rows of float32, in every order of the operands' memory."""

import numpy as np
import pytest

import shim_torch as torch

SIZES = [
    (1, 1, 1),
    (1, 33, 5),
    (3, 64, 7),
    (5, 100, 31),
    (17, 70, 64),
    (2, 515, 1030),
    (8, 300, 520),
    (9, 8, 9),
    (40, 129, 70),
]


def made(*sizes, dtype, seed):
    return torch.tensor(np.random.RandomState(seed).randn(*sizes).astype(np.float32)).to(dtype)


def near(found, expected, k):
    width = 2.0**-8 if found.dtype == torch.bfloat16 else 2.0**-22
    expected = np.asarray(expected)
    least = 2.0**-22 * (8 + k)  # of the sums in float32
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=width, atol=least)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("sizes", SIZES)
def test_products_in_every_order(sizes, dtype):
    m, k, n = sizes
    a, b, bias = made(m, k, dtype=dtype, seed=1), made(k, n, dtype=dtype, seed=2), made(n, dtype=dtype, seed=3)
    expected = a.double().numpy() @ b.double().numpy()
    for left in (a, a.t().contiguous().t()):
        for right in (b, b.t().contiguous().t()):
            near(left @ right, expected, k)
            near(torch.addmm(bias, left, right, beta=0.5, alpha=2.0), 2 * expected + 0.5 * bias.double().numpy(), 4 * k)
            near(torch.mv(left, right[:, 0]), expected[:, 0], k)
    near(torch.nn.functional.linear(a, b.t().contiguous(), bias), expected + bias.double().numpy(), k)


def test_batches_and_broadcasting():
    q, k = made(2, 3, 10, 20, dtype=torch.bfloat16, seed=1), made(2, 3, 7, 20, dtype=torch.bfloat16, seed=2)
    wide_q, wide_k = q.double().numpy(), k.double().numpy()
    near(q @ k.mT, wide_q @ wide_k.swapaxes(-1, -2), 20)
    near(q.mT @ q, wide_q.swapaxes(-1, -2) @ wide_q, 10)
    near(q[0, 0] @ k.mT, wide_q[0, 0] @ wide_k.swapaxes(-1, -2), 20)
    near(torch.bmm(q[:, 0].expand(2, 10, 20), k[:, 1].mT), wide_q[:, 0] @ wide_k[:, 1].swapaxes(-1, -2), 20)


def test_what_is_no_number_stays_in_its_row():
    x = torch.ones(6, 70, dtype=torch.bfloat16)
    x[1, 69], x[2, 3] = float("inf"), float("nan")
    found = x @ torch.ones(70, 9, dtype=torch.bfloat16)
    assert torch.isinf(found[1]).all() and torch.isnan(found[2]).all() and (found[[0, 3, 4, 5]] == 70).all()
    one = x[:, 1:2].t() @ torch.ones(6, 600, dtype=torch.bfloat16)
    assert (one == 6).all()


def test_gradients_of_a_layer():
    x, w = (
        made(12, 30, dtype=torch.bfloat16, seed=4).requires_grad_(),
        made(7, 30, dtype=torch.bfloat16, seed=5).requires_grad_(),
    )
    torch.nn.functional.linear(x, w).backward(made(12, 7, dtype=torch.bfloat16, seed=6))
    g = made(12, 7, dtype=torch.bfloat16, seed=6).double().numpy()
    near(x.grad, g @ w.detach().double().numpy(), 7)
    near(w.grad, g.T @ x.detach().double().numpy(), 12)
