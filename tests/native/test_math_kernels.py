"""Vectorised float32 functions against NumPy's float64: errors in units of the last place, and the limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import shim_torch

torch: Any = shim_torch
rng = np.random.default_rng(0)


def spread(low: float, high: float) -> Any:
    return rng.uniform(low, high, 20_011).astype(np.float32)


SIZES = np.exp(rng.uniform(-100, 88, 20_011)).astype(np.float32)
erf = np.vectorize(math.erf)
RANGES: dict[str, tuple[Any, list[Any], float]] = {
    "exp": (np.exp, [spread(-87, 88.7), spread(-1, 1)], 1.5),
    "exp2": (np.exp2, [spread(-125, 127.9)], 1.5),
    "expm1": (np.expm1, [spread(-20, 80), spread(-1, 1), spread(-1e-3, 1e-3)], 4),
    "log": (np.log, [SIZES, spread(0.5, 2)], 1.5),
    "log2": (np.log2, [SIZES, spread(0.5, 2)], 2.5),
    "log10": (np.log10, [SIZES, spread(0.5, 2)], 2.5),
    "log1p": (np.log1p, [SIZES, spread(-0.99, 5), spread(-1e-3, 1e-3)], 2),
    "tanh": (np.tanh, [spread(-10, 10), spread(-1, 1)], 2),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), [spread(-80, 80), spread(-3, 3)], 2.5),
    "erf": (erf, [spread(-5, 5), spread(-1, 1)], 2),
    "sin": (np.sin, [spread(-4, 4), spread(-1e5, 1e5)], 2),
    "cos": (np.cos, [spread(-4, 4), spread(-1e5, 1e5)], 2),
    "rsqrt": (lambda x: 1 / np.sqrt(x), [SIZES], 2),
}
LIMITS = np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e-40, 89, -105, 3e38], np.float32)


@pytest.mark.parametrize("name", RANGES)
def test_errors(name: str) -> None:
    function, ranges, limit = RANGES[name]
    for x in ranges:
        y = getattr(torch, name)(torch.from_numpy(x)).numpy().astype(np.float64)
        expected = function(x.astype(np.float64))
        units = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
        assert (np.abs(y - expected) / units).max() < limit


@pytest.mark.parametrize("name", RANGES)
def test_limits(name: str) -> None:
    with np.errstate(all="ignore"):
        expected = RANGES[name][0](LIMITS.astype(np.float64)).astype(np.float32) if name not in ("sin", "cos") else None
    if expected is None:
        expected = np.array(
            [getattr(math, name)(x) if math.isfinite(x) else math.nan for x in LIMITS.tolist()], np.float32
        )
    y = getattr(torch, name)(torch.from_numpy(LIMITS)).numpy()
    np.testing.assert_allclose(y, expected, rtol=3e-6)
    zeros = np.signbit(y[:2]) if name in ("expm1", "log1p", "tanh", "erf", "sin") else [False, True]
    assert list(zeros) == [False, True]


@pytest.mark.parametrize("count", [1, 7, 31, 513, 70_001])
def test_any_length_gives_the_same(count: int) -> None:
    x = spread(-5, 5)[0] + np.linspace(-3, 3, count, dtype=np.float32)
    for name in ("exp", "tanh", "erf", "sin"):
        whole = getattr(torch, name)(torch.from_numpy(x)).numpy()
        one = np.array(
            [getattr(torch, name)(torch.from_numpy(x[i : i + 1])).item() for i in (0, count // 2, -1 % count)]
        )
        np.testing.assert_allclose(whole[[0, count // 2, -1]], one, rtol=2e-7)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_and_silu(approximate: str) -> None:
    x = spread(-12, 12)
    wide = x.astype(np.float64)
    inner = (
        erf(wide / math.sqrt(2))
        if approximate == "none"
        else np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
    )
    y = torch.nn.functional.gelu(torch.from_numpy(x), approximate=approximate).numpy()
    np.testing.assert_allclose(y, wide * 0.5 * (1 + inner), rtol=1e-6, atol=5e-7)
    np.testing.assert_allclose(
        torch.nn.functional.silu(torch.from_numpy(x)).numpy(), wide / (1 + np.exp(-wide)), rtol=1e-6
    )
    assert np.isnan(torch.nn.functional.gelu(torch.tensor(float("nan")), approximate=approximate).item())


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("log", [False, True])
def test_softmax_along_any_dim(dim: int, log: bool) -> None:
    x = np.random.default_rng(4).standard_normal((5, 37, 150)).astype(np.float32) * 20
    wide = x.astype(np.float64)
    expected = wide - wide.max(dim, keepdims=True)
    expected -= np.log(np.exp(expected).sum(dim, keepdims=True))
    y = (torch.log_softmax if log else torch.softmax)(torch.from_numpy(x), dim)
    np.testing.assert_allclose(
        y.numpy(), expected if log else np.exp(expected), rtol=2e-6, atol=1e-7 if not log else 1e-5
    )
    infinite = torch.full((2, 3), -float("inf")).softmax(1)
    assert infinite.isnan().all().item()
    hot = torch.tensor([[0.0, float("inf")], [0.0, float("nan")]]).softmax(0)
    assert hot[:, 0].tolist() == [0.5, 0.5] and hot[:, 1].isnan().all().item()


DOUBLES: dict[str, tuple[Any, list[tuple[float, float]]]] = {
    "exp": (np.exp, [(-744, 709), (-1, 1)]),
    "log": (np.log, [(1e-320, 1e-300), (0.5, 2), (1, 1e300)]),
    "tanh": (np.tanh, [(-25, 25), (-1, 1), (-1e-6, 1e-6)]),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), [(-700, 40), (-2, 2)]),
    "sin": (np.sin, [(-4, 4), (-5e5, 5e5), (-1e9, 1e9)]),
    "cos": (np.cos, [(-4, 4), (-5e5, 5e5), (-1e9, 1e9)]),
}


@pytest.mark.parametrize("name", DOUBLES)
def test_errors_in_double(name: str) -> None:
    function, ranges = DOUBLES[name]
    for low, high in ranges:
        x = rng.uniform(low, high, 5003)
        x[:4] = low, high, (low + high) / 2, 3 * np.pi / 2 if high > 5 else low
        y = getattr(torch, name)(torch.from_numpy(x)).numpy()
        expected = function(x.astype(np.longdouble))
        units = np.maximum(np.spacing(np.abs(expected.astype(np.float64))), 5e-324)
        assert (np.abs(y - expected) / units).max() < (2.5 if np.finfo(np.longdouble).eps < 1e-17 else 4)


def test_limits_in_double() -> None:
    x = torch.tensor(
        [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -1.0, 1e308, 710.0, -746.0], dtype=torch.float64
    )
    tiny = 5e-324
    for name, expected in {
        "exp": [1, 1, math.inf, 0, math.nan, 1, math.exp(-1), math.inf, math.inf, 0],
        "log": [
            -math.inf,
            -math.inf,
            math.inf,
            math.nan,
            math.nan,
            math.log(tiny),
            math.nan,
            math.log(1e308),
            math.log(710),
            math.nan,
        ],
        "tanh": [0.0, -0.0, 1, -1, math.nan, tiny, math.tanh(-1), 1, 1, -1],
        "sin": [
            0.0,
            -0.0,
            math.nan,
            math.nan,
            math.nan,
            tiny,
            math.sin(-1),
            math.sin(1e308),
            math.sin(710),
            math.sin(-746),
        ],
        "cos": [1, 1, math.nan, math.nan, math.nan, 1, math.cos(1), math.cos(1e308), math.cos(710), math.cos(746)],
        "sigmoid": [0.5, 0.5, 1, 0, math.nan, 0.5, 1 / (1 + math.e), 1, 1, 0],
    }.items():
        y = getattr(torch, name)(x).tolist()
        assert y == pytest.approx(expected, rel=1e-15, abs=0, nan_ok=True), name
        assert math.copysign(1, y[1]) == math.copysign(1, expected[1]), name
