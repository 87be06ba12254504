"""Powers: promotion, special values, gradients of negative and complex bases; values of PyTorch."""

import math

import numpy as np
import pytest

import shim_torch as torch

INF, NAN = math.inf, math.nan


POWERS = {
    0.5: [NAN, NAN, -0.0, 0.0, 1.2247449159622192, INF, NAN],
    -0.5: [NAN, NAN, -INF, INF, 0.8164965510368347, 0.0, NAN],
    2: [INF, 6.25, 0.0, 0.0, 2.25, INF, NAN],
    3: [-INF, -15.625, -0.0, 0.0, 3.375, INF, NAN],
    -1: [-0.0, -0.4000000059604645, -INF, INF, 0.6666666865348816, 0.0, NAN],
    -2: [0.0, 0.1599999964237213, INF, INF, 0.4444444477558136, 0.0, NAN],
    1: [-INF, -2.5, -0.0, 0.0, 1.5, INF, NAN],
}


@pytest.mark.parametrize("exponent", POWERS)
def test_powers_by_a_number(exponent):
    x = torch.tensor([-INF, -2.5, -0.0, 0.0, 1.5, INF, NAN])
    got = (x**exponent).numpy()
    np.testing.assert_allclose(got, np.float32(POWERS[exponent]), rtol=1e-7)
    assert np.array_equal(
        np.signbit(got[:6]), np.signbit(np.float32(POWERS[exponent])[:6]) | np.isnan(got[:6]) & np.signbit(got[:6])
    )
    y = x.clone()
    assert y.pow_(exponent) is y
    np.testing.assert_array_equal(y.numpy(), got)


def test_powers_keep_their_promotion():
    whole = torch.tensor([1, 2, 3])
    assert (whole**2).tolist() == [1, 4, 9] and (whole**2).dtype == torch.int64
    assert (whole**2.0).dtype == torch.float32 and (whole**0.5).dtype == torch.float32
    assert (2 ** torch.tensor([1.0, 3.0])).tolist() == [2.0, 8.0]
    assert (torch.ones(2, dtype=torch.float16) ** 3).dtype == torch.float16
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    (x**3).sum().backward()
    assert x.grad.tolist() == [12.0, 27.0]


def _close(found, expected) -> None:
    torch.testing.assert_close(found, torch.tensor(expected, dtype=found.dtype), rtol=1e-3, atol=1e-4)


@pytest.fixture
def exponent():
    return torch.tensor([1 + 0.5j, 2 - 1j], dtype=torch.cdouble, requires_grad=True)


def test_a_negative_real_base_with_a_complex_exponent(exponent) -> None:
    base = torch.tensor([-1.5, -2.0], dtype=torch.double, requires_grad=True)
    of_base, of_exponent = torch.autograd.grad((base**exponent).abs().sum(), (base, exponent))
    _close(of_base, [-0.2079, -92.5628])
    _close(of_exponent, [0.1264 - 0.9796j, 64.1596 - 290.7945j])


@pytest.mark.parametrize(
    "base, expected",
    [
        (1.5, [0.7182 + 0.4733j, 0.4785 + 1.1982j]),
        (-1.5, [-0.9116 + 1.0584j, 225.9019 - 58.0623j]),
        (1 + 1j, [0.2781 - 1.1255j, -0.1238 - 5.3241j]),
    ],
)
def test_numbers_to_the_power_of_a_complex_tensor(exponent, base, expected) -> None:
    _close(torch.autograd.grad(torch.view_as_real(base**exponent).sum(), exponent)[0], expected)


def test_numbers_to_the_power_of_a_real_tensor() -> None:
    r = torch.tensor([1.5, -2.0], dtype=torch.double, requires_grad=True)
    _close(torch.autograd.grad(((1 + 1j) ** r).abs().sum(), r)[0], [0.5829, 0.1733])
    assert torch.autograd.grad(((-1.5) ** r).abs().sum(), r)[0].isnan().all()


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
