"""Functions of the CPU's vector loops and reductions along any dims, against NumPy in double."""

import math

import numpy as np
import pytest
import scipy.special

import shim_torch as torch
from shim_torch.nn import functional as F

INF, NAN = math.inf, math.nan


def units(got, want):
    """The largest error in units in the last place of float32."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    fine = np.isfinite(want) & (np.abs(want) < 3.4e38)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    assert np.array_equal(
        got[~fine & ~np.isnan(want)].astype(np.float32), want[~fine & ~np.isnan(want)].astype(np.float32)
    )
    return float(
        (np.abs(got - want)[fine] / np.maximum(np.spacing(np.abs(want[fine]).astype(np.float32)), 1e-38)).max()
    )


RANGES = {"tan": (-100, 100), "sinh": (-89, 89), "cosh": (-89, 89), "atan": (-50, 50), "asin": (-1, 1), "acos": (-1, 1), "erfinv": (-0.99999, 0.99999),
          "lgamma": (-20, 50), "digamma": (0.01, 30)}  # fmt: skip
NUMPY = {
    "atan": np.arctan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "erfinv": scipy.special.erfinv,
    "lgamma": scipy.special.gammaln,
    "digamma": scipy.special.psi,
}


@pytest.mark.parametrize("name", RANGES)
def test_functions(name):
    low, high = RANGES[name]
    x = np.concatenate([np.linspace(low, high, 20001), np.linspace(-0.9, 0.9, 2001) if low < 0 else [0.5]]).astype(
        np.float32
    )
    want = NUMPY.get(name, getattr(np, name, None))(x.astype(np.float64))
    got = getattr(torch, name)(torch.from_numpy(x)).numpy()
    if name in ("lgamma", "digamma", "tan", "acos"):  # near the zeros errors are absolute
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=3e-7)
    else:
        assert units(got, want) <= 4


def test_functions_at_the_edges():
    x = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 2.0])
    expected = {
        "tan": [NAN, NAN, NAN, 0.0, -0.0, math.tan(1), -math.tan(1), math.tan(2)],
        "sinh": [NAN, INF, -INF, 0.0, -0.0, math.sinh(1), -math.sinh(1), math.sinh(2)],
        "cosh": [NAN, INF, INF, 1.0, 1.0, math.cosh(1), math.cosh(1), math.cosh(2)],
        "atan": [NAN, math.pi / 2, -math.pi / 2, 0.0, -0.0, math.pi / 4, -math.pi / 4, math.atan(2)],
        "asin": [NAN, NAN, NAN, 0.0, -0.0, math.pi / 2, -math.pi / 2, NAN],
        "acos": [NAN, NAN, NAN, math.pi / 2, math.pi / 2, 0.0, math.pi, NAN],
        "erfinv": [NAN, NAN, NAN, 0.0, -0.0, INF, -INF, NAN],
        "digamma": [NAN, INF, NAN, -INF, INF, -0.5772156649, NAN, 0.42278433509],
    }
    for name, want in expected.items():
        got = getattr(torch, name)(x).numpy()
        np.testing.assert_allclose(got, np.float32(want), rtol=3e-7, err_msg=name)
        zeros = np.float32(want)[3:5] == 0
        assert np.array_equal(np.signbit(got[3:5])[zeros], np.signbit(np.float32(want)[3:5])[zeros]), name
    big = torch.tensor([1e6, 1e30, 3e4])
    np.testing.assert_allclose(torch.tan(big).numpy(), np.tan(big.double().numpy()), rtol=1e-6)
    np.testing.assert_allclose(
        torch.sinh(torch.tensor([89.3, -89.3, 90.0])).numpy(),
        [np.sinh(np.float32(89.3)), -np.sinh(np.float32(89.3)), INF],
        rtol=1e-5,
    )


def pairs():
    rng = np.random.default_rng(0)
    a = np.concatenate([rng.normal(size=4000) * 10, rng.normal(size=4000) * 1e4, rng.integers(-50, 50, 2000)]).astype(
        np.float32
    )
    b = np.concatenate([rng.normal(size=8000), rng.choice([-7, -3, 2, 5], 2000)]).astype(np.float32)
    edges = np.float32([0, -0.0, 1, -1, 3, -3, 1e30, -1e30, INF, -INF, NAN, 1e-30])
    e = np.meshgrid(edges, edges)
    return np.concatenate([a, e[0].ravel()]), np.concatenate([b, e[1].ravel()])


def test_remainders_are_exact():
    a, b = pairs()
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    with np.errstate(all="ignore"):
        want = np.fmod(a, b)
        got = torch.fmod(x, y).numpy()
        assert np.array_equal(got, want, equal_nan=True) and np.array_equal(
            np.signbit(got), np.signbit(want) | np.isnan(got) & np.signbit(got)
        )
        turned = np.where((want != 0) & ((b < 0) != (want < 0)), want + b, want)
        assert np.array_equal(torch.remainder(x, y).numpy(), turned, equal_nan=True)
        assert (
            np.array_equal(torch.hypot(x, y).numpy(), np.hypot(a, b), equal_nan=True)
            or units(torch.hypot(x, y), np.hypot(np.float64(a), np.float64(b))) <= 1
        )
    whole = torch.tensor([7.0, -7.0, 7.0, -7.0, 1.0, 0.0, 5.0])
    by = torch.tensor([2.0, 2.0, -2.0, -2.0, 0.0, 0.0, INF])
    assert str((whole // by).tolist()) == "[3.0, -4.0, -4.0, 3.0, inf, nan, 0.0]"


def test_powers():
    rng = np.random.default_rng(1)
    a, b = np.exp(rng.normal(size=20000) * 3).astype(np.float32), (rng.normal(size=20000) * 5).astype(np.float32)
    assert units(torch.pow(torch.from_numpy(a), torch.from_numpy(b)).numpy(), np.float64(a) ** np.float64(b)) <= 1
    edges = np.float32([0, -0.0, 1, -1, 2, -2.5, 0.5, INF, -INF, NAN, 3, -3, 1e-40])
    x, y = (g.ravel().copy() for g in np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            torch.pow(torch.from_numpy(x), torch.from_numpy(y)).numpy(), np.power(x, y), rtol=2e-6
        )
    assert (torch.tensor([2.0, 3.0]) ** 2.5).tolist() == np.float32([2**2.5, 3**2.5]).tolist()


SHAPE = (6, 20, 7, 11)


@pytest.mark.parametrize("dims", [(0,), (1,), (3,), (0, 2), (0, 3), (0, 2, 3), (1, 3), (1, 2), (0, 1, 2, 3), (2, 3)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 3, 2), (0, 2, 3, 1)])
def test_reductions_along_any_dims(dims, order):
    x = torch.randn(*(SHAPE[d] for d in order)).permute(*np.argsort(order).tolist())
    wide = x.double().numpy()
    for keepdim in (False, True):
        np.testing.assert_allclose(x.sum(dims, keepdim).numpy(), wide.sum(dims, keepdims=keepdim), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(
            x.mean(dims, keepdim).numpy(), wide.mean(dims, keepdims=keepdim), rtol=1e-4, atol=1e-5
        )
        assert np.array_equal(x.amax(dims, keepdim).numpy(), x.numpy().max(dims, keepdims=keepdim))
        assert np.array_equal((x > 2).any(dims[0]).numpy(), (x > 2).numpy().any(dims[0]))
    half = x.to(torch.bfloat16)
    np.testing.assert_allclose(half.mean(dims).float().numpy(), half.double().numpy().mean(dims), rtol=8e-3, atol=1e-3)
    whole = (x * 10).to(torch.int32)
    assert np.array_equal(whole.sum(dims).numpy(), whole.numpy().sum(dims)) and whole.sum(dims).dtype == torch.int64


@pytest.mark.parametrize("cols", [1, 2, 3, 10, 47, 48, 49, 64, 300])
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 3000])
def test_rows_of_every_width(rows, cols):
    x = torch.randn(rows, cols)
    np.testing.assert_allclose(x.sum(1).numpy(), x.double().numpy().sum(1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(x.prod(1).numpy(), x.double().numpy().prod(1), rtol=1e-4, atol=1e-30)
    assert np.array_equal(x.amin(1).numpy(), x.numpy().min(1))
    x[rows // 2, cols - 1] = NAN
    assert np.isnan(x.amax(1).numpy()).tolist() == [r == rows // 2 for r in range(rows)]
    z = torch.complex(x.nan_to_num(), -x.nan_to_num())
    np.testing.assert_allclose(z.sum(1).numpy(), z.numpy().sum(1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_extremes_of_whole_numbers(dtype):
    x = torch.randint(0, 100, (777,)).to(dtype) - (50 if dtype != torch.uint8 else 0)
    assert x.max().item() == int(x.numpy().max()) and x.min().item() == int(x.numpy().min())


def test_complex_products_and_spreads():
    a, b = torch.randn(99, dtype=torch.complex64), torch.randn(99, dtype=torch.complex64)
    np.testing.assert_allclose((a * b).numpy(), a.numpy() * b.numpy(), rtol=1e-5, atol=1e-6)
    row = torch.arange(40.0)
    assert np.array_equal(row[:, None].expand(40, 50).contiguous().numpy(), np.repeat(row.numpy()[:, None], 50, 1))


def test_linspace_and_arange():
    for steps in (2, 3, 8, 9, 1000):
        for dtype in (torch.float32, torch.float64):
            got = torch.linspace(-1.5, 2, steps, dtype=dtype)
            np.testing.assert_allclose(got.numpy(), np.linspace(-1.5, 2, steps), rtol=1e-6, atol=1e-7)
            assert got[0] == -1.5 and got[-1] == 2.0 and got.dtype == dtype
    assert torch.linspace(0, 10, 5, dtype=torch.int64).tolist() == [0, 2, 5, 7, 10]
    assert torch.arange(3, 20, 4).tolist() == [3, 7, 11, 15, 19]


def test_assigning_numbers():
    x = torch.zeros(2, 3)
    x[x == 0] = 2
    x[torch.tensor([1])] = 5.0
    assert x.tolist() == [[2, 2, 2], [5, 5, 5]] and x._version == 2
    whole = torch.arange(4)
    whole[whole > 1] = 7
    whole[torch.tensor([0, -1])] = -1
    assert whole.tolist() == [-1, 1, 7, -1]
    with pytest.raises(IndexError):
        whole[torch.tensor([4])] = 1
    leaf = torch.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf"):
        leaf[torch.tensor([True, False, True])] = 1.0


def test_lstm_steps():
    lstm = torch.nn.LSTM(3, 4, 2, bidirectional=True).double()
    x = torch.randn(5, 2, 3, dtype=torch.float64, requires_grad=True)
    h, c = torch.randn(2, 4, 2, 4, dtype=torch.float64)
    params = [x, *lstm.parameters()]
    assert torch.autograd.gradcheck(lambda t, *_: lstm(t, (h, c))[0], params, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda t, *_: lstm(t, (h, c))[1][1], params, fast_mode=True)
    cell = torch.nn.LSTMCell(3, 4)
    a, b = cell(torch.randn(2, 3))
    one, two = cell(torch.randn(3))
    assert a.shape == b.shape == (2, 4) and one.shape == two.shape == (4,)
    single = torch.nn.LSTM(3, 4)
    with torch.no_grad():
        (y, (last, _)) = single(torch.randn(6, 1, 3))
    assert torch.equal(y[-1], last[0]) and F.cosine_similarity(y[0], y[0]).item() == pytest.approx(1, abs=1e-5)
