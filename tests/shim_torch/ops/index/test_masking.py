"""Masks: filled, selected, scattered and counted; what broadcasts."""

from typing import Any

import numpy as np
import pytest

import shim_torch as torch

from ..checked_calls import drawn, natively, numpy


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
def test_masks(dtype: Any) -> None:
    x = (drawn((33, 9)) * 2).astype(dtype)
    mask = drawn((33, 9)) > 0
    t, m = torch.from_numpy(x), torch.from_numpy(mask)
    np.testing.assert_array_equal(numpy(natively(lambda: t.masked_select(m))), x[mask])
    np.testing.assert_array_equal(numpy(natively(lambda: t[m])), x[mask])
    np.testing.assert_array_equal(numpy(natively(lambda: t[m[:, 0]])), x[mask[:, 0]])
    np.testing.assert_array_equal(numpy(natively(lambda: t[m & ~m])), x[mask & ~mask])
    np.testing.assert_array_equal(numpy(t.nonzero()), np.argwhere(x))


def test_masked_fill_and_where_of_every_size():
    mask = torch.tensor([True, False, True] * 20)
    for dtype in (torch.bool, torch.int8, torch.int16, torch.bfloat16, torch.float32, torch.int64, torch.complex64):
        x = torch.arange(60).to(dtype)
        filled = x.masked_fill(mask, 1)
        assert filled.dtype == dtype and torch.equal(filled, torch.where(mask, torch.ones(60, dtype=dtype), x))
        assert filled[1::3].tolist() == x[1::3].tolist()
    spread = torch.zeros(3, 4).masked_fill_(torch.tensor([[True], [False], [True]]), 7.0)
    assert spread.sum(1).tolist() == [28.0, 0.0, 28.0]
