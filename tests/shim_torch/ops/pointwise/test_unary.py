"""Functions of one tensor element by element: errors in units of the last place, edges, complex numbers."""

import math

import numpy as np
import pytest
import scipy.special

import shim_torch as torch


def test_absolute_values_of_complex_numbers():
    c = torch.tensor([3 + 4j])
    assert torch.abs(c, out=torch.zeros(1, dtype=torch.float64)).tolist() == [5.0]
    assert torch.abs(c, out=torch.zeros(1, dtype=torch.complex64)).tolist() == [5 + 0j]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.abs(c, out=torch.zeros(1, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors."):
        c.abs_()


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
