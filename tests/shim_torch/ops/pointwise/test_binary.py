"""Functions of two tensors element by element: exact remainders, extremes, logarithms of sums, neighbours."""

import math

import numpy as np
import pytest

import shim_torch as torch


def test_complex_logaddexp():
    c = torch.tensor([1 + 3j, 4 - 6j])
    assert np.allclose(torch.logaddexp(c, c).numpy(), [1 + math.log(2) + 3j, 4 + math.log(2) - 6j])


INF, NAN = math.inf, math.nan


X = [-30.0, -3.0, -0.5, 0.0, 0.25, 0.75, 3.0, 30.0, NAN, INF, -INF]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_of_two_halves(name, dtype):
    x = torch.tensor((X + [-0.0, 65504.0, 1e-5]) * 9).to(dtype)
    y = x.flip(0)
    expected = getattr(torch, name)(x.float(), y.float()).to(dtype)
    found = getattr(torch, name)(x, y)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.float().numpy(), expected.float().numpy())


def test_neighbours_of_half_precision_numbers():
    x = torch.tensor([-8.5, 1.0, 0.0, 0.0, 2.0, math.nan])
    y = torch.tensor([0.0, 0.0, 1.0, -1.0, 2.0, 1.0])
    b = torch.nextafter(x.bfloat16(), y.bfloat16())
    assert b.dtype == torch.bfloat16
    np.testing.assert_array_equal(
        b.float().numpy(), np.float32([-8.4375, 0.99609375, 2**-133, -(2.0**-133), 2, math.nan])
    )
    h = torch.nextafter(x.half(), y.half())
    np.testing.assert_array_equal(
        h.float().numpy(), np.float32([-8.4921875, 0.99951171875, 2**-24, -(2.0**-24), 2, math.nan])
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_angles_of_every_quadrant(dtype):
    v = torch.tensor([0.0, -0.0, 1.0, -1.0, 1e-30, -3e20, math.inf, -math.inf, math.nan, 0.7, -2.5], dtype=dtype)
    a, b = v[:, None].expand(11, 11), v[None].expand(11, 11)
    assert np.allclose(
        torch.atan2(a, b).numpy(),
        np.arctan2(a.numpy(), b.numpy()),
        rtol=3e-7 if dtype is torch.float32 else 1e-14,
        equal_nan=True,
    )
    assert np.array_equal(np.signbit(torch.atan2(v[:2], v[2:4]).numpy()), [False, True])
    assert np.allclose(torch.hypot(a, b).numpy(), np.hypot(a.numpy(), b.numpy()), equal_nan=True)
