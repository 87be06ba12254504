"""Sums, differences, products, quotients and remainders of tensors and numbers."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shim_torch as torch
from shim_torch._impl.native import _core


def test_division_of_complex_numbers_keeps_large_and_small_ones():
    r = np.random.default_rng(0)
    a, b = (r.standard_normal(99) + 1j * r.standard_normal(99) for _ in range(2))
    for scale in (1, 1e150, 1e-150):
        assert np.allclose((torch.from_numpy(a * scale) / torch.from_numpy(b * scale)).numpy(), a / b, rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_of_16_bits_in_one_pass(dtype: Any, name: str) -> None:
    pattern = np.arange(65536, dtype=np.uint16)
    a, b = pattern.view(dtype), np.roll(pattern * np.uint16(40503), 7).view(dtype)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    with np.errstate(all="ignore"):
        expected = function(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
    got = _core.to_numpy(getattr(torch, name)(torch.from_numpy(a), torch.from_numpy(b)))
    kept = ~np.isnan(expected)
    assert got[kept].tobytes() == expected[kept].tobytes() and np.isnan(got[~kept]).all()
    spread = torch.from_numpy(a)[::2]
    strided = _core.to_numpy(getattr(torch, name)(spread, torch.from_numpy(b)[::2]))
    assert strided[kept[::2]].tobytes() == expected[::2][kept[::2]].tobytes()


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


def test_complex_products_and_spreads():
    a, b = torch.randn(99, dtype=torch.complex64), torch.randn(99, dtype=torch.complex64)
    np.testing.assert_allclose((a * b).numpy(), a.numpy() * b.numpy(), rtol=1e-5, atol=1e-6)
    row = torch.arange(40.0)
    assert np.array_equal(row[:, None].expand(40, 50).contiguous().numpy(), np.repeat(row.numpy()[:, None], 50, 1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_of_sums_are_rounded_and_those_of_products_are_not(dtype, compiled):
    x = torch.randn(640, generator=torch.Generator().manual_seed(3)).to(dtype)
    y, wide, number = x.flip(0).clone(), x.float(), 0.0010264
    near = torch.tensor(number).to(dtype).float()
    assert near != torch.tensor(number)
    whole = torch.arange(640) * 37 + 1000  # int64, beyond what 16 bits hold exactly
    wants = {
        "sums": (lambda: x + number, wide + near),
        "tensors of no dims": (lambda: x + torch.tensor(number), wide + near),
        "differences": (lambda: x - number, wide - near),
        "reversed": (lambda: number - x, near - wide),
        "alpha": (lambda: torch.add(x, y, alpha=number), wide + near * y.float()),
        "integers": (lambda: x + whole, wide + whole.to(dtype).float()),
        "products": (lambda: x * number, wide * number),
        "quotients": (lambda: x / number, wide / number),
        "floors": (lambda: x // number, wide // number),
        "products of integers": (lambda: x * whole, wide * whole.to(dtype).float()),
        "remainders": (lambda: x % number, wide % near),
    }
    for name, (call, want) in wants.items():
        got = torch.compile(call)() if compiled else call()
        assert torch.equal(got, want.to(dtype)), name
