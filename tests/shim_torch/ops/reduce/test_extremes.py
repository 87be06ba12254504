"""Largest and smallest values and their places: NaN first, ties."""

from typing import Any

import numpy as np
import pytest

import shim_torch as torch

from ..checked_calls import natively, numpy


@pytest.mark.devices("cpu", "cuda")
def test_the_deprecated_aminmax(device):
    x = torch.tensor([[3.0, 1.0], [2.0, 5.0]])
    low, high = torch._aminmax(x)
    assert (low.item(), high.item()) == (1, 5)
    low, high = torch._aminmax(x, 1)
    assert low.tolist() == [1, 2] and high.tolist() == [3, 5]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_extremes_of_whole_numbers(dtype):
    x = torch.randint(0, 100, (777,)).to(dtype) - (50 if dtype != torch.uint8 else 0)
    assert x.max().item() == int(x.numpy().max()) and x.min().item() == int(x.numpy().min())


def test_extremes_of_all_lengths() -> None:
    for n in (1, 7, 31, 32, 33, 1000, 70_001):
        x = np.random.default_rng(n).standard_normal(n)
        for dtype in (np.float32, np.float64, np.float16):
            t = torch.from_numpy(x.astype(dtype))
            assert (t.amax().item(), t.amin().item()) == (x.astype(dtype).max(), x.astype(dtype).min())
            for place in {0, n // 2, n - 1}:
                holed = t.clone()
                holed[place] = float("nan")
                assert holed.amax().isnan().item() and holed.amin().isnan().item()
                endless = torch.full((n,), -float("inf"), dtype=t.dtype)
                assert endless.amax().item() == -float("inf")


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64])
def test_integer_extremes_and_sums(dtype: Any) -> None:
    x = np.random.default_rng(3).integers(0, 2 if dtype == np.bool_ else 100, (9, 37)).astype(dtype)
    t = torch.from_numpy(x)
    if dtype == np.bool_:
        with pytest.raises(RuntimeError, match="does not support bool input"):
            t.argmax(1)
    else:
        np.testing.assert_array_equal(numpy(natively(lambda: t.argmax(1))), x.argmax(1))
    np.testing.assert_array_equal(numpy(natively(lambda: t.min(0).values)), x.min(0))
    np.testing.assert_array_equal(numpy(natively(lambda: t.cumsum(1))), x.cumsum(1))


def test_nan_and_infinity() -> None:
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1.0, nan, 3.0, nan], [inf, 2.0, inf, 0.0], [-inf, -inf, -inf, -inf]])
    assert x.argmax(1).tolist() == [1, 0, 0]
    assert x.argmin(1).tolist() == [1, 3, 0]
    assert str(x.max(1).values.tolist()) == "[nan, inf, -inf]"
    assert str(x.logsumexp(1).tolist()) == "[nan, inf, -inf]"
    assert torch.isnan(x.max()).item()
    long = torch.zeros(100)
    long[77] = nan
    assert long.argmax().item() == 77
