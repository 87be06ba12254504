"""Sorting and selection: stable order, ties, NaN, and how results lie."""

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shim_torch
import shim_torch as torch
from shim_torch._impl.native import _core


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("stable", [None, True])
def test_sorted_lies_as_what_was_sorted(dim, stable):
    wide = shim_torch.randn(3, 4, 5)
    for t in (wide.permute(2, 0, 1), wide[:, ::2].transpose(0, 2), wide[:, :1].expand(3, 4, 5)):
        found = t.sort(dim) if stable is None else t.sort(dim=dim, stable=stable)
        order = sorted(range(3), key=lambda d: -t.stride(d)) if 0 not in t.stride() else [0, 1, 2]
        dense = shim_torch.empty([t.size(d) for d in order]).permute([order.index(d) for d in range(3)]).stride()
        assert found.values.stride() == found.indices.stride() == dense
        assert shim_torch.equal(found.values, t.contiguous().sort(dim).values)
        assert shim_torch.equal(t.gather(dim, found.indices), found.values)


def test_selection_from_keys_that_split_badly():
    for x in (
        np.arange(3000.0),
        np.arange(3000.0)[::-1].copy(),
        np.repeat([1.0, 2.0], 1500),
        np.tile([5.0, 1.0, 3.0], 1000),
    ):
        for k in (1, 700, 1500, 3000):
            assert torch.from_numpy(x).kthvalue(k)[0].item() == np.sort(x)[k - 1]


DTYPES = [
    np.bool_,
    np.uint8,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
]


def values(shape: Any, dtype: Any) -> Any:
    x = np.random.default_rng(5).standard_normal(shape) * 40
    x.flat[::7] = x.flat[0]  # equal ones
    if np.dtype(dtype).kind == "V" or np.dtype(dtype).kind == "f":
        x.flat[3::11] = np.nan
        x.flat[1::13], x.flat[2::13] = 0.0, -0.0
        x.flat[4::17], x.flat[5::17] = np.inf, -np.inf
    elif dtype == np.bool_:
        return x > 0
    return np.abs(x).astype(dtype) if np.dtype(dtype).kind == "u" else x.astype(dtype)


def bits(x: Any) -> bytes:
    return _core.to_numpy(x).tobytes() if isinstance(x, torch.Tensor) else np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (9,), (4, 31), (5, 3, 6), (2, 3000), (3, 0)])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable(dtype: Any, shape: Any, descending: bool) -> None:
    x = values(shape, dtype) if 0 not in shape else np.zeros(shape, dtype)
    wide = x.astype(np.float64)
    for dim in {0, -1}:
        if descending:
            flipped = np.flip(wide, dim)
            order = shape[dim] - 1 - np.flip(np.argsort(flipped, dim, kind="stable"), dim)
        else:
            order = np.argsort(wide, dim, kind="stable")
        got, index = torch.from_numpy(x).sort(dim, descending)
        np.testing.assert_array_equal(index.numpy(), order)
        assert bits(got) == bits(np.take_along_axis(x, order, dim))


@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.float32])
@pytest.mark.parametrize("k", [0, 1, 3, 40])
@pytest.mark.parametrize("largest", [False, True])
def test_topk(dtype: Any, k: int, largest: bool) -> None:
    x = values((5, 40), dtype)
    for dim, axis in ((1, x), (0, x.T)):
        source = torch.from_numpy(x if dim else np.ascontiguousarray(axis))
        got, index = source.topk(k, dim, largest)
        wide = np.sort(_core.to_numpy(source).astype(np.float64), dim)
        wide = np.flip(wide, dim) if largest else wide
        expected = wide.take(range(k), dim)
        np.testing.assert_array_equal(_core.to_numpy(got).astype(np.float64), expected)
        np.testing.assert_array_equal(bits(source.gather(dim, index)), bits(got))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (9,), (4, 31), (5, 3, 6), (2, 700)])
def test_modes(shape, dtype):
    r = np.random.default_rng(0)
    for spread in (4, 100):
        a = (r.integers(-spread, spread, shape) * (0.5 if "float" in dtype else 1)).astype(dtype)
        for dim, keep in itertools.product(range(len(shape)), (False, True)):
            values, places = torch.mode(torch.from_numpy(a), dim, keep)
            x = np.moveaxis(a, dim, -1)
            wanted = np.empty(x.shape[:-1], dtype)
            last = np.empty(x.shape[:-1], np.int64)
            for at in np.ndindex(x.shape[:-1]):
                each, counts = np.unique(x[at], return_counts=True)
                wanted[at] = each[counts.argmax()]
                last[at] = np.flatnonzero(x[at] == wanted[at])[-1]
            if keep:
                wanted, last = np.expand_dims(wanted, dim), np.expand_dims(last, dim)
            assert np.array_equal(values.numpy(), wanted) and np.array_equal(places.numpy(), last)
            assert values.is_contiguous()


def test_modes_of_what_is_no_number():
    nan = math.nan
    assert torch.mode(torch.tensor([nan, nan, 2.0, nan])).values == 2
    assert torch.mode(torch.tensor([nan, nan])).values.isnan()
    assert torch.mode(torch.tensor([1.0, -0.0, 0.0])).indices == 2
    assert torch.mode(torch.tensor([2**62, -(2**62), 2**62, 2**63 - 1, 2**63 - 1])).values == 2**62


KTH_PLACES = [
    0, 14, 7, 45, 52, 33, 26, 21, 40, 47, 28, 59, 2, 9, 35, 61, 23, 54, 4, 42, 16, 30, 37, 49, 56, 63, 18, 11, 51, 6, 58, 44,
    13, 25, 32, 27, 8, 1, 53, 46, 39, 20, 3, 48, 60, 22, 34, 15, 41, 17, 55, 29, 62, 10, 43, 36, 5, 38, 12, 50, 31, 24, 57, 19,
]  # fmt: skip


def test_selections_choose_among_equal_values():
    x = torch.tensor([3, 1, 2, 1, 3, 1, 2, 2])
    assert [torch.kthvalue(x, k).indices.item() for k in range(1, 9)] == [3, 5, 1, 6, 7, 2, 4, 0]
    longer = (torch.arange(64) * 37 % 64) // 7
    assert [torch.kthvalue(longer, k).indices.item() for k in range(1, 65)] == KTH_PLACES
    assert torch.topk(x, 3).values.tolist() == [3, 3, 2] and torch.topk(x, 3, largest=False).values.tolist() == [
        1,
        1,
        1,
    ]
    assert torch.special.airy_ai(torch.ones(4, 3).T).stride() == (1, 3)
