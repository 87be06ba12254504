"""Products of whole numbers, which are exact whatever their size: sums wrap around."""

import numpy as np
import pytest

import shim_torch as torch

rng = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_products_wrap_around(dtype):
    limits = np.iinfo(dtype)
    for low, high in ((0, 9), (limits.min, limits.max)):
        for shape in ((3, 4, 5), (33, 40, 37), (1, 5000, 1), (0, 3, 50), (40, 0, 40)):
            m, k, n = shape
            a, b = (rng.integers(low, high, s, dtype=dtype, endpoint=True) for s in ((m, k), (k, n)))
            with np.errstate(all="ignore"):
                expected = np.matmul(a, b)
            assert np.array_equal((torch.from_numpy(a) @ torch.from_numpy(b)).numpy(), expected)
            many = torch.bmm(torch.from_numpy(np.stack([a, a])), torch.from_numpy(np.stack([b, b])))
            assert many.dtype is getattr(torch, dtype) and np.array_equal(many[1].numpy(), expected)
