"""Float32 functions of vector code: units in the last place from the same in float64."""

import numpy as np
import pytest

import shim_torch as torch

FUNCTIONS = dict.fromkeys(("expm1", "tan", "atan", "sinh", "cosh", "asin", "acos"), 0.56)


def _off(got, wanted):
    got, wanted = got.double().numpy(), wanted.numpy()
    unit = 2.0 ** np.floor(np.log2(np.maximum(np.abs(wanted), 1e-37))) * 2.0**-23
    finite = np.isfinite(wanted) & (np.abs(wanted) < 3e38)
    return float(np.max(np.abs(got - wanted)[finite] / unit[finite]))


def _numbers():
    torch.manual_seed(0)
    spread = torch.randn(4000).sign() * 10 ** (torch.rand(4000) * 8 - 6)
    return torch.cat([torch.rand(8000) * 2 - 1, torch.rand(8000) * 20 - 10, spread, torch.randn(2000) * 1e5])


@pytest.mark.parametrize(("name", "units"), list(FUNCTIONS.items()))
def test_units_in_the_last_place(name, units):
    x = _numbers()
    assert _off(getattr(torch, name)(x), getattr(torch, name)(x.double())) < units


def test_atan2():
    y, x = _numbers(), _numbers().flip(0)
    assert _off(torch.atan2(y, x), torch.atan2(y.double(), x.double())) < 0.56


def test_limits():
    inf = float("inf")
    ends = torch.tensor([inf, -inf, 0.0, -0.0, float("nan"), 88.8, -200.0])
    assert torch.expm1(ends)[:4].tolist() == [inf, -1.0, 0.0, 0.0] and torch.expm1(ends)[6] == -1
    torch.testing.assert_close(torch.atan(ends), torch.atan(ends.double()).float(), rtol=2e-7, atol=0, equal_nan=True)
    torch.testing.assert_close(torch.expm1(ends), torch.expm1(ends.double()).float(), rtol=2e-7, atol=0, equal_nan=True)
