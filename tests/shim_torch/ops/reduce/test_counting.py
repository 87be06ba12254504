"""Distinct values, counts and places in sorted lists: against NumPy; rows are ordered by what can be compared."""

from __future__ import annotations

import numpy as np
import pytest

import shim_torch as torch

nan = float("nan")


@pytest.mark.devices("cpu", "cuda")
def test_rows_that_nan_leaves_equal_stay_in_place(device):
    values, inverse, counts = torch.unique(
        torch.tensor([nan, 0, 0, nan, nan, 1]), return_inverse=True, return_counts=True, dim=0
    )
    assert [str(v) for v in values.tolist()] == ["nan", "0.0", "nan", "nan", "1.0"]
    assert inverse.tolist() == [0, 1, 1, 2, 3, 4] and counts.tolist() == [1, 2, 1, 1, 1]


@pytest.mark.devices("cpu", "cuda")
def test_rows_are_ordered_by_what_can_be_compared(device):
    rows = torch.tensor([[3.0, nan], [1, 2], [1, 2], [0, 5]])
    values, inverse, counts = torch.unique(rows, return_inverse=True, return_counts=True, dim=0)
    assert values[:2].tolist() == [[0, 5], [1, 2]] and values[2, 0] == 3 and values[2, 1].isnan()
    assert inverse.tolist() == [2, 1, 1, 0] and counts.tolist() == [1, 2, 1]


@pytest.mark.parametrize("call", [torch.unique, torch.unique_consecutive])
def test_slices_of_no_element(call):
    with pytest.raises(RuntimeError, match="more than one, so unique cannot be applied"):
        call(torch.empty(5, 0, 0), dim=1)
    with pytest.raises(RuntimeError, match="they aren't selected, so unique cannot be applied"):
        call(torch.empty(5, 0, 0), dim=0)
    assert call(torch.empty(5, 0, 3), dim=1).shape == (5, 0, 3)


DTYPES = ["uint8", "int16", "int64", "float32", "float64"]


def array(shape, dtype, seed=0):
    r = np.random.default_rng(seed)
    return (
        r.integers(0, 9, shape).astype(dtype)
        if "float" not in dtype
        else np.round(r.standard_normal(shape) * 3, 1).astype(dtype)
    )


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("size", [0, 1, 50, 3000])
def test_distinct(size, dtype):
    a = array((size,), "int64").astype(dtype) if dtype == "bool" else array((size,), dtype)
    values, inverse, counts = torch.unique(torch.from_numpy(a), return_inverse=True, return_counts=True)
    v, i, c = np.unique(a, return_inverse=True, return_counts=True)
    assert (
        np.array_equal(values.numpy(), v) and np.array_equal(inverse.numpy(), i) and np.array_equal(counts.numpy(), c)
    )
    values, inverse, counts = torch.unique_consecutive(torch.from_numpy(a), return_inverse=True, return_counts=True)
    starts = np.ones(size, bool)
    starts[1:] = a[1:] != a[:-1]
    assert np.array_equal(values.numpy(), a[starts]) and np.array_equal(inverse.numpy(), np.cumsum(starts) - 1)
    assert np.array_equal(np.repeat(values.numpy(), counts.numpy()), a)


def test_distinct_of_far_integers_and_of_nan():
    far = np.random.default_rng(0).integers(-(2**62), 2**62, 1000)
    assert np.array_equal(torch.unique(torch.from_numpy(np.concatenate([far, far]))).numpy(), np.unique(far))
    found, counts = torch.unique(torch.tensor([float("nan"), -0.0, 0.0, float("nan")]), return_counts=True)
    assert counts.tolist() == [2, 1, 1] and np.isnan(found[1:].numpy()).all()


F = torch.nn.functional


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float64"])
def test_looked_up(dtype):
    r = np.random.default_rng(0)
    a = r.integers(0, 50, 300).astype(dtype)
    ranked = np.sort(a)
    for right in (False, True):
        wanted = np.searchsorted(ranked, a, "right" if right else "left")
        assert np.array_equal(
            torch.searchsorted(torch.from_numpy(ranked), torch.from_numpy(a), right=right).numpy(), wanted
        )
        assert np.array_equal(
            torch.bucketize(torch.from_numpy(a), torch.from_numpy(ranked), right=right).numpy(), wanted
        )
    rows = np.sort(a.reshape(3, 100), 1)
    found = torch.searchsorted(torch.from_numpy(rows), torch.from_numpy(a.reshape(3, 100)), out_int32=True)
    assert found.dtype == torch.int32 and np.array_equal(
        found.numpy(), [np.searchsorted(s, v) for s, v in zip(rows, a.reshape(3, 100), strict=True)]
    )
    assert torch.searchsorted(torch.from_numpy(ranked[:0]), torch.from_numpy(a)).sum() == 0
    for few in (a[:3], a[:40]):
        assert np.array_equal(torch.isin(torch.from_numpy(a), torch.from_numpy(few)).numpy(), np.isin(a, few))
        assert np.array_equal(
            torch.isin(torch.from_numpy(a), torch.from_numpy(few), invert=True).numpy(), ~np.isin(a, few)
        )
    t = torch.from_numpy(a).view(10, 30)
    for dim in (0, 1, -1):
        assert np.array_equal(t.repeat_interleave(3, dim).numpy(), np.repeat(a.reshape(10, 30), 3, dim))
        assert np.array_equal(t.t().repeat_interleave(2, dim).numpy(), np.repeat(a.reshape(10, 30).T, 2, dim))
    assert np.array_equal(t.repeat_interleave(2).numpy(), np.repeat(a, 2))
    assert (
        torch.equal(t, t.clone())
        and not torch.equal(t, t + 1)
        and torch.equal(t.t(), t.t().contiguous())
        and not torch.equal(t, t[:2])
    )
    assert t.trace().item() == np.trace(a.reshape(10, 30))


def test_nan_is_found_nowhere_and_stands_last():
    x = torch.tensor([float("nan"), 1.0])
    assert torch.isin(x, x).tolist() == [False, True]
    assert torch.searchsorted(torch.tensor([0.0, 1.0, 2.0]), x).tolist() == [3, 1]
    assert not torch.equal(x, x.clone()) and torch.equal(torch.zeros(2), -torch.zeros(2))


def test_counted():
    a = np.random.default_rng(0).integers(0, 9, 5000)
    t = torch.from_numpy(a)
    assert np.array_equal(torch.bincount(t).numpy(), np.bincount(a)) and torch.bincount(t, minlength=20).shape == (20,)
    assert np.array_equal(F.one_hot(t.view(50, 100), 12).numpy(), np.eye(12, dtype="int64")[a.reshape(50, 100)])
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.bincount(torch.tensor([1, -1]))
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        F.one_hot(t, 3)


def test_counts_of_numbers_at_the_end_of_their_range():
    # (x - least) * bins / width is infinite or no number here, and named a place outside of the bins
    assert torch.histc(torch.tensor([0.0, 3e38]), 10).tolist() == [1] + [0] * 8 + [1]
    assert torch.histc(torch.tensor([-3e38, 3e38]), 10).sum() == 2
    assert torch.histc(torch.tensor([0.0, 1.0, 1e308], dtype=torch.float64), 10).tolist() == [2] + [0] * 8 + [1]
    with pytest.raises(
        RuntimeError,
        match="maximum value of input overflowed, it should be < 9223372036854775807 but got 9223372036854775807",
    ):
        torch.bincount(torch.tensor([2**63 - 1]))


def test_sorter_out_of_range():
    with pytest.raises(RuntimeError, match=r"torch.searchsorted\(\): sorter index out of range"):
        torch.searchsorted(torch.tensor([1.0, 2.0]), torch.tensor([1.0]), sorter=torch.tensor([0, 3]))


def test_unique_of_nothing():
    assert torch.unique(torch.empty(0, 3), dim=0).shape == (0, 3)
    values, counts = torch.unique_consecutive(torch.empty(0, 3), dim=0, return_counts=True)
    assert values.shape == (0, 3) and counts.shape == (0,)
